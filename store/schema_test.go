package store

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
)

// Every kind of transaction has the methods of its own buckets and of those that any may write, all the
// reads, and nothing else: writing another's bucket does not compile.
func TestKindsHaveTheirOwnDoorsOnly(t *testing.T) {
	reads := methodsOf[View]()
	shared := slices.Concat(reads, doors(ByAny))
	for _, kind := range []struct {
		name      string
		got, want []string
	}{
		{"Shared", methodsOf[Shared](), shared},
		{"Intent", methodsOf[Intent](), slices.Concat(shared, doors(ByIntent))},
		{"Delivery", methodsOf[Delivery](), slices.Concat(shared, doors(ByDelivery))},
		{"Observation", methodsOf[Observation](), slices.Concat(shared, doors(ByObservation))},
	} {
		slices.Sort(kind.want)
		if want := slices.Compact(kind.want); !slices.Equal(kind.got, want) {
			t.Errorf("%s has %v, want %v", kind.name, kind.got, want)
		}
	}
	for _, name := range reads {
		for _, verb := range []string{"Put", "Add", "Update", "Delete", "Mark", "Drop", "Forget"} {
			if strings.HasPrefix(name, verb) {
				t.Errorf("View has %s", name)
			}
		}
	}
}

func doors(by Writer) (names []string) {
	for _, table := range Schema {
		if table.Writer == by {
			names = append(names, table.Doors...)
		}
	}
	return names
}

func methodsOf[T any]() (names []string) {
	for method := range reflect.TypeFor[*T]().Methods() {
		names = append(names, method.Name)
	}
	return names // reflect sorts them
}

func TestSchemaIsComplete(t *testing.T) {
	s := newStore(t)
	var made []string
	must(t, s.read(func(x *txn) error {
		return x.tx.ForEach(func(name []byte, _ *bbolt.Bucket) error {
			made = append(made, string(name))
			return nil
		})
	}))
	var named []string
	for _, table := range Schema {
		named = append(named, table.Name)
		if table.Keep == "" || table.Key == "" || table.read == nil {
			t.Errorf("%s lacks its retention rule, its key or its record", table.Name)
		}
		if (len(table.Doors) == 0) != (table.Writer == ByStore) {
			t.Errorf("%s has doors %v for %s", table.Name, table.Doors, table.Writer)
		}
	}
	slices.Sort(named)
	if !slices.Equal(made, named) {
		t.Errorf("buckets are %v, the schema names %v", made, named)
	}
}

// A secret member is one that the record type has: a renamed field must not come out of hiding.
func TestSecretMembersExist(t *testing.T) {
	for table, shape := range map[*Table]*shape{
		tableClaims: shapeOf[Claim](), tableOutbox: shapeOf[Outbound](), tableChat: shapeOf[ChatLine](),
		tableQuarantine: shapeOf[Quarantined](), tableCursors: shapeOf[Cursor](),
	} {
		if len(table.Secret) == 0 {
			t.Errorf("%s has no secret", table.Name)
		}
		for _, member := range table.Secret {
			within := shape
			if list, name, nested := strings.Cut(member, "/"); nested && shape.members[list] != nil {
				within, member = shape.members[list].element, name
			}
			if within == nil || within.members[member] == nil {
				t.Errorf("%s has no member %q", table.Name, member)
			}
		}
	}
	for table, shape := range map[*Table]*shape{
		tableAccounts: shapeOf[Account](), tableSeen: shapeOf[Seen](), tableConversations: shapeOf[Conversation](),
		tableDelegations: shapeOf[Delegation](), tableConfirms: shapeOf[Confirm](), tableJournal: shapeOf[JournalEntry](),
		tableLastOwner: shapeOf[LastOwner](),
	} {
		if shape.members["text"] != nil || shape.members["reply_handle"] != nil {
			t.Errorf("%s has a text that a dump shows", table.Name)
		}
	}
}
