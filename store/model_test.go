package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"scv/wire"
)

func contextEnded() (context.Context, context.CancelFunc) {
	ended, cancel := context.WithCancel(ctx)
	cancel()
	return ended, cancel
}

// model is what a store should hold, in plain maps.
type model struct {
	accounts      map[string]Account
	claims        map[string]map[uint64]Claim
	outbox        map[string]map[uint64]Outbound
	seen          map[string]bool
	conversations map[string]Conversation
	delegations   map[string]Delegation
	confirms      map[string]Confirm
	lines         map[string][]ChatLineRow
}

func newModel() *model {
	return &model{
		map[string]Account{},
		map[string]map[uint64]Claim{},
		map[string]map[uint64]Outbound{},
		map[string]bool{},
		map[string]Conversation{},
		map[string]Delegation{},
		map[string]Confirm{},
		map[string][]ChatLineRow{},
	}
}

func sortedKeys[K ~string | ~uint64, V any](m map[K]V) []K {
	var keys []K
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

var (
	drawAccount = rapid.SampledFrom([]string{"a:b", "a:b-c", "a:b_", "local:default"})
	drawName    = rapid.SampledFrom([]string{"x", "y", "group\x00sender", "a/b", "", "\xff\xfe"})
	drawText    = rapid.String()
)

// machine drives a store and its model together.
type machine struct {
	s *Store
	m *model
}

func (k *machine) deliver(t *rapid.T, fn func(*Delivery) error) {
	if err := k.s.Deliver(ctx, fn); err != nil {
		t.Fatal(err)
	}
}

func (k *machine) steps() map[string]func(*rapid.T) {
	m := k.m
	return map[string]func(*rapid.T){
		"account": func(t *rapid.T) {
			id, a := drawAccount.Draw(t, "id"), testAccount()
			a.Workspace = drawText.Draw(t, "workspace")
			m.accounts[id] = a
			k.intend(t, func(i *Intent) error { return i.PutAccount(id, a) })
		},
		"no account": func(t *rapid.T) {
			id := drawAccount.Draw(t, "id")
			delete(m.accounts, id)
			k.intend(t, func(i *Intent) error { return i.DeleteAccount(id) })
		},
		"claim":    k.claim,
		"outbound": k.outbound,
		"failure":  k.failure,
		"seen": func(t *rapid.T) {
			account, id := drawAccount.Draw(t, "account"), drawName.Draw(t, "id")
			m.seen[account+"/"+id] = true
			k.deliver(t, func(d *Delivery) error { return d.MarkSeen(account, id) })
		},
		"conversation": k.conversation,
		"line":         k.line,
		"delegation":   k.delegation,
		"question":     k.question,
		"restart":      k.restart,
		"":             k.compare,
	}
}

func (k *machine) conversation(t *rapid.T) {
	m := k.m
	account, key := drawAccount.Draw(t, "account"), drawName.Draw(t, "key")
	c := Conversation{Agent: drawText.Draw(t, "agent"), Turns: rapid.Uint32().Draw(t, "turns"), LastUse: k.s.clock.Now()}
	if rapid.Bool().Draw(t, "forget") {
		delete(m.conversations, account+"/"+key)
		k.deliver(t, func(d *Delivery) error { return d.DeleteConversation(account, key) })
		return
	}
	m.conversations[account+"/"+key] = c
	k.deliver(t, func(d *Delivery) error { return d.PutConversation(account, key, c) })
}

func (k *machine) line(t *rapid.T) {
	m := k.m
	account := drawAccount.Draw(t, "account")
	l := ChatLine{Kind: wire.ChatReply, Text: drawText.Draw(t, "text"), ClientID: rapid.SampledFrom([]string{"", "1", "2", "\"3"}).Draw(t, "id")}
	known := slices.IndexFunc(m.lines[account], func(r ChatLineRow) bool { return l.ClientID != "" && r.ClientID == l.ClientID })
	k.deliver(t, func(d *Delivery) error {
		seq, added, err := d.AddChatLine(account, l)
		if added != (known < 0) || known >= 0 && seq != m.lines[account][known].Seq {
			return fmt.Errorf("sequence %d, added %v", seq, added)
		}
		if added {
			m.lines[account] = append(m.lines[account], ChatLineRow{seq, l})
		}
		return err
	})
}

func (k *machine) delegation(t *rapid.T) {
	m := k.m
	handle := rapid.SampledFrom([]string{"brave-otter", "calm-newt"}).Draw(t, "handle")
	d := Delegation{Agent: drawText.Draw(t, "agent"), State: RunEnded, Depth: rapid.Uint32().Draw(t, "depth")}
	if rapid.Bool().Draw(t, "forget") {
		delete(m.delegations, handle)
		k.observe(t, func(o *Observation) error { return o.DeleteDelegation(handle) })
		return
	}
	m.delegations[handle] = d
	k.observe(t, func(o *Observation) error { return o.PutDelegation(handle, d) })
}

func (k *machine) question(t *rapid.T) {
	m := k.m
	id := rapid.SampledFrom([]string{"000000000001", "000000000002", "000000000003"}).Draw(t, "id")
	c := Confirm{ID: id, Question: drawText.Draw(t, "question"), State: rapid.SampledFrom([]wire.ConfirmState{
		wire.Pending, wire.Yes, wire.No,
	}).Draw(t, "state")}
	if c.State.Final() {
		c.Ended = k.s.clock.Now()
	}
	old, known := m.confirms[id]
	frozen := known && old.State.Final() && old.State != c.State
	if !frozen {
		m.confirms[id] = c
	}
	if err := k.s.Observe(ctx, func(o *Observation) error { return o.PutConfirm(c) }); (err != nil) != frozen {
		t.Fatalf("from %q to %q: %v", old.State, c.State, err)
	}
}

func (k *machine) restart(t *rapid.T) {
	if rapid.IntRange(0, 9).Draw(t, "rarely") != 0 {
		return
	}
	if err := k.s.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := Open(ctx, quickOptions(k.s.Path()))
	if err != nil {
		t.Fatal(err)
	}
	k.s = s
}

func (k *machine) intend(t *rapid.T, fn func(*Intent) error) {
	if err := k.s.Intend(ctx, fn); err != nil {
		t.Fatal(err)
	}
}

func (k *machine) observe(t *rapid.T, fn func(*Observation) error) {
	if err := k.s.Observe(ctx, fn); err != nil {
		t.Fatal(err)
	}
}

func (k *machine) claim(t *rapid.T) {
	account := drawAccount.Draw(t, "account")
	c := Claim{MessageID: drawText.Draw(t, "id"), Text: drawText.Draw(t, "text"), Claimed: k.s.clock.Now()}
	mine := k.m.claims[account]
	if mine == nil {
		mine = map[uint64]Claim{}
		k.m.claims[account] = mine
	}
	if len(mine) == 0 || rapid.Bool().Draw(t, "new") {
		k.deliver(t, func(d *Delivery) error {
			seq, err := d.PutClaim(account, c)
			mine[seq] = c
			return err
		})
		return
	}
	seq := rapid.SampledFrom(sortedKeys(mine)).Draw(t, "seq")
	if rapid.Bool().Draw(t, "delete") {
		delete(mine, seq)
		k.deliver(t, func(d *Delivery) error { return d.DeleteClaim(account, seq) })
		return
	}
	mine[seq] = c
	k.deliver(t, func(d *Delivery) error { return d.UpdateClaim(account, seq, c) })
}

func (k *machine) outbound(t *rapid.T) {
	account := drawAccount.Draw(t, "account")
	o := Outbound{Kind: "reply", Text: drawText.Draw(t, "text"), Held: rapid.Bool().Draw(t, "held"), Queued: k.s.clock.Now()}
	mine := k.m.outbox[account]
	if mine == nil {
		mine = map[uint64]Outbound{}
		k.m.outbox[account] = mine
	}
	if len(mine) == 0 || rapid.Bool().Draw(t, "new") {
		k.deliver(t, func(d *Delivery) error {
			seq, err := d.AddOutbound(account, o)
			mine[seq] = o
			return err
		})
		return
	}
	seq := rapid.SampledFrom(sortedKeys(mine)).Draw(t, "seq")
	if rapid.Bool().Draw(t, "delete") {
		delete(mine, seq)
		k.deliver(t, func(d *Delivery) error { return d.DeleteOutbound(account, seq) })
		return
	}
	mine[seq] = o
	k.deliver(t, func(d *Delivery) error { return d.UpdateOutbound(account, seq, o) })
}

// failure writes to everything and then gives up: nothing of it may be seen.
func (k *machine) failure(t *rapid.T) {
	broken := errors.New("broken")
	err := k.s.Deliver(ctx, func(d *Delivery) error {
		_, err := d.PutClaim("a:b", Claim{})
		return errors.Join(err, d.MarkSeen("a:b", "never"), d.PutConversation("a:b", "never", Conversation{}), broken)
	})
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
}

func (k *machine) compare(t *rapid.T) {
	got := newModel()
	err := k.s.View(func(v *View) error {
		for _, row := range v.Accounts() {
			got.accounts[row.ID] = row.Account
		}
		for _, account := range sortedKeys(k.m.claims) {
			got.claims[account] = map[uint64]Claim{}
			for _, row := range v.Claims(account) {
				got.claims[account][row.Seq] = row.Claim
			}
			if v.CountClaims(account) != len(k.m.claims[account]) {
				t.Fatalf("%d claims of %s", v.CountClaims(account), account)
			}
		}
		for _, account := range sortedKeys(k.m.outbox) {
			got.outbox[account] = map[uint64]Outbound{}
			for _, row := range append(v.Outbox(account, 1000), v.Held(account, "")...) {
				got.outbox[account][row.Seq] = row.Outbound
			}
		}
		for key := range ascend[Seen](v.t, tableSeen, nil) {
			got.seen[string(key)] = true
		}
		for key, rec := range ascend[Conversation](v.t, tableConversations, nil) {
			got.conversations[string(key)] = rec
		}
		for _, row := range v.Delegations() {
			got.delegations[row.Handle] = row.Delegation
		}
		for _, c := range v.Confirms() {
			got.confirms[c.ID] = c
		}
		for _, account := range sortedKeys(k.m.lines) {
			got.lines[account] = v.ChatLines(account, 0, 1000)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(k.m, got, cmp.AllowUnexported(model{})); diff != "" {
		t.Fatal(diff)
	}
}

func TestStoreIsItsModel(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		s, err := Open(ctx, quickOptions(filepath.Join(dir, fmt.Sprint(n, ".db"))))
		if err != nil {
			t.Fatal(err)
		}
		k := &machine{s: s, m: newModel()}
		defer func() { _ = k.s.Close() }()
		t.Repeat(k.steps())
		if err := k.s.Check(ctx); err != nil {
			t.Fatal(err)
		}
	})
}
