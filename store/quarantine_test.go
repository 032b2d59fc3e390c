package store

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"scv/migrations"
)

// badValues are the ways in which a record can be unreadable.
var badValues = map[string]string{
	"empty": "", "brace": "{", "null": "null", "text": `"hunter2"`, "newer": `{"v":2}`,
	"bare": `{"v":1}`, "garbage": "\x00\xfe\x01hunter2", "array": "[]",
}

// goodKey makes a key of a table's form that no record has.
func goodKey(table *Table, n int) []byte {
	switch table.form {
	case keySeq:
		return bigEndian(uint64(1000 + n))
	case keyAccountSeq:
		return accountSeqKey("local:default", uint64(1000+n))
	case keyAccountText:
		return accountTextKey("local:default", fmt.Sprint("bad-", n))
	}
	return fmt.Append(nil, "bad-", n)
}

func TestBadRecordsOfEveryBucketAreQuarantinedAndNamed(t *testing.T) {
	for name, value := range badValues {
		t.Run(name, func(t *testing.T) {
			s := quickStore(t)
			fillStore(t, s)
			must(t, s.Close())
			want := map[string]bool{}
			edit(t, s.Path(), func(tx *bbolt.Tx) error {
				for n, table := range Schema {
					key := goodKey(table, n)
					want[table.Name+" "+table.form.text(key)] = true
					if err := tx.Bucket([]byte(table.Name)).Put(key, []byte(value)); err != nil {
						return err
					}
				}
				return nil
			})
			var log strings.Builder
			o := optionsAt(s.Path())
			o.Log = slog.New(slog.NewTextHandler(&log, nil))
			again := openTest(t, o)
			for _, bad := range again.Quarantined() {
				name := bad.Bucket + " " + bad.Key
				if !want[name] {
					t.Errorf("%s is in quarantine: %s", name, bad.Reason)
				}
				if bad.Reason == "" || !strings.Contains(log.String(), bad.Bucket+"/"+bad.Key) {
					t.Errorf("%s is not named in the log", name)
				}
				delete(want, name)
			}
			if len(want) > 0 {
				t.Errorf("not in quarantine: %v", want)
			}
			checkFilled(t, again, len(Schema))
			if strings.Contains(log.String(), "hunter2") {
				t.Error("the log shows what stood there")
			}
		})
	}
}

// checkFilled holds a store to what fillStore wrote, plus entries of the journal.
func checkFilled(t *testing.T, s *Store, journalled int) {
	t.Helper()
	must(t, s.View(func(v *View) error {
		line, found := v.FindChatMessage("local:default", "m1")
		delegation, live := v.Delegation("brave-otter")
		ended, known := v.Confirm("ba9876543210")
		conversation, kept := v.Conversation("local:default", "c")
		owner, wrote := v.LastOwner()
		for what, ok := range map[string]bool{
			"account":      len(v.Accounts()) == 1,
			"claim":        len(v.Claims("local:default")) == 1 && v.AllClaims()[0].Text == "secret-claim" && len(v.AllClaims()[0].Files) == 2,
			"outbox":       len(v.Outbox("local:default", 10)) == 2,
			"seen":         v.SeenMessage("local:default", "m0"),
			"cursor":       v.Cursor("local:default") == "secret-handle-3",
			"conversation": kept && conversation.Turns == 3,
			"chat":         len(v.ChatLines("local:default", 0, 10)) == 2 && found && line == 1,
			"delegation":   live && delegation.Leader.PID == 4242 && len(delegation.Ties) == 1,
			"open":         len(v.OpenConfirms()) == 1 && v.OpenConfirms()[0].Code == "3f",
			"ended":        known && ended.Receipt.Word == "yes" && len(v.Confirms()) == 2,
			"journal":      len(v.Journal(100)) == 1+journalled,
			"owner":        wrote && owner.Terminal,
			"meta":         v.Meta().Schema == migrations.Newest() && v.Meta().Release == "0.1.0",
		} {
			if !ok {
				t.Errorf("%s is not as it was written", what)
			}
		}
		return nil
	}))
}

func TestOnePercentBadRecords(t *testing.T) {
	s := quickStore(t)
	must(t, s.Observe(ctx, func(o *Observation) error {
		for n := range 2000 {
			if err := o.PutDelegation(fmt.Sprintf("run-%04d", n), Delegation{Agent: "a", State: RunEnded}); err != nil {
				return err
			}
		}
		return nil
	}))
	must(t, s.Close())
	edit(t, s.Path(), func(tx *bbolt.Tx) error {
		for n := 0; n < 2000; n += 100 {
			if err := tx.Bucket([]byte("delegations")).Put(fmt.Appendf(nil, "run-%04d", n), []byte("{")); err != nil {
				return err
			}
		}
		return nil
	})
	again := openTest(t, optionsAt(s.Path()))
	if n := len(view(t, again, (*View).Delegations)); n != 1980 {
		t.Errorf("%d delegations are left", n)
	}
	if n := len(again.Quarantined()); n != 20 {
		t.Errorf("%d in quarantine", n)
	}
	rows := view(t, again, func(v *View) []JournalRow { return v.Journal(100) })
	if len(rows) != 20 || rows[0].Kind != "quarantined" || !strings.Contains(rows[0].What, "delegations/run-1900") {
		t.Errorf("journal: %d entries, newest %+v", len(rows), rows[0])
	}
}

func TestDamageWhileOpenIsLeftOutAndLoggedOnce(t *testing.T) {
	var log strings.Builder
	o := optionsAt("")
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	s := openTest(t, o)
	fillStore(t, s)
	key := []byte("ba9876543210")
	must(t, s.write(ctx, func(x *txn) error { return x.putRaw(tableConfirmsEnded, key, []byte("{")) }))
	for range 3 {
		must(t, s.View(func(v *View) error {
			if _, ok := v.Confirm("ba9876543210"); ok || len(v.Confirms()) != 1 {
				t.Error("a bad record was given out")
			}
			return nil
		}))
	}
	if n := strings.Count(log.String(), "confirms_ended/ba9876543210"); n != 1 {
		t.Errorf("logged %d times: %s", n, log.String())
	}
	must(t, s.write(ctx, func(x *txn) error { return x.remove(tableConfirmsEnded, key) }))
}

func TestKeysOfAWrongForm(t *testing.T) {
	s := quickStore(t)
	must(t, s.Close())
	claim, err := encode(Claim{MessageID: "m"})
	must(t, err)
	edit(t, s.Path(), func(tx *bbolt.Tx) error {
		for _, key := range []string{"local:default", "local:default/", "local:default/1", "/12345678", "local:default/123456789"} {
			if err := tx.Bucket([]byte("claims")).Put([]byte(key), claim); err != nil {
				return err
			}
		}
		_, err := tx.Bucket([]byte("accounts")).CreateBucket([]byte("nested"))
		return err
	})
	again := openTest(t, optionsAt(s.Path()))
	if n := len(again.Quarantined()); n != 5 {
		t.Errorf("%d in quarantine: %v", n, again.Quarantined())
	}
	if n := len(view(t, again, (*View).AllClaims)); n != 0 {
		t.Errorf("%d claims", n)
	}
	must(t, again.write(ctx, func(x *txn) error {
		x.dirty = true
		return x.bucket(tableAccounts).DeleteBucket([]byte("nested"))
	}))
}

func TestDropQuarantined(t *testing.T) {
	s := quickStore(t)
	must(t, s.Close())
	edit(t, s.Path(), func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte("outbox")).Put(accountSeqKey("local:default", 7), []byte("{"))
	})
	again := openTest(t, optionsAt(s.Path()))
	bad := again.Quarantined()
	if len(bad) != 1 || bad[0].Bucket != "outbox" || bad[0].Key != "local:default/7" {
		t.Fatalf("quarantine: %+v", bad)
	}
	must(t, again.Intend(ctx, func(i *Intent) error { return i.DropQuarantined(bad[0]) }))
	if err := again.Intend(ctx, func(i *Intent) error { return i.DropQuarantined(bad[0]) }); err == nil {
		t.Error("dropped twice")
	}
	if left := again.Quarantined(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}
