package store

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"scv/wire"
)

// sweepStore opens a store with a clock that the test moves.
func sweepStore(t *testing.T) (*Store, *fixedClock) {
	clk := newClock()
	o := optionsAt("")
	o.Clock, o.NoSync = clk, true
	return openTest(t, o), clk
}

// inBulk runs fn for 0..n-1 in chunks.
func inBulk(t *testing.T, s *Store, n int, fn func(x *txn, i int) error) {
	t.Helper()
	for from := 0; from < n; from += 2000 {
		must(t, s.write(ctx, func(x *txn) error {
			for i := from; i < min(from+2000, n); i++ {
				if err := fn(x, i); err != nil {
					return err
				}
			}
			return nil
		}))
	}
}

func count(t *testing.T, s *Store, table *Table, account string) (n int) {
	t.Helper()
	prefix := []byte(nil)
	if account != "" {
		prefix = accountPrefix(account)
	}
	must(t, s.read(func(x *txn) error {
		for range descendRaw(x, table, prefix) {
			n++
		}
		return nil
	}))
	return n
}

func TestSweepJournal(t *testing.T) {
	s, clk := sweepStore(t)
	inBulk(t, s, keepJournal+700, func(x *txn, i int) error {
		kind := "test"
		if i < 10 {
			kind = KindAnswered
		}
		return x.addJournal(kind, "test", fmt.Sprint(i), nil)
	})
	must(t, s.Sweep(ctx))
	if n := count(t, s, tableJournal, ""); n != keepJournal+10 {
		t.Errorf("%d entries, want %d and 10 receipts", n, keepJournal)
	}
	clk.pass(keepReceipts + time.Second)
	must(t, s.Sweep(ctx))
	if n := count(t, s, tableJournal, ""); n != keepJournal {
		t.Errorf("%d entries after a year", n)
	}
	if rows := view(t, s, func(v *View) []JournalRow { return v.Journal(1) }); rows[0].What != fmt.Sprint(keepJournal+699) {
		t.Errorf("the newest is %+v", rows[0])
	}
}

func TestSweepChatAndHeld(t *testing.T) {
	s, clk := sweepStore(t)
	inBulk(t, s, keepChatLines+100, func(x *txn, i int) error {
		if i < 200 { // of a quieter account, whose few lines stay
			if _, err := appendSeq(x, tableChat, "local:a", ChatLine{Text: fmt.Sprint(i), At: clk.Now().Wall}); err != nil {
				return err
			}
			if _, err := appendSeq(x, tableOutbox, "local:a", Outbound{Held: i%2 == 0, Queued: clk.Now()}); err != nil {
				return err
			}
		}
		if i < keepHeld+50 {
			if _, err := appendSeq(x, tableOutbox, "local:b", Outbound{Held: true, Text: fmt.Sprint(i), Queued: clk.Now()}); err != nil {
				return err
			}
		}
		_, err := appendSeq(x, tableChat, "local:b", ChatLine{Text: fmt.Sprint(i), At: clk.Now().Wall})
		return err
	})
	must(t, s.Sweep(ctx))
	expect := func(when string, chatA, chatB, outA, outB int) {
		t.Helper()
		for _, c := range []struct {
			table   *Table
			account string
			want    int
		}{{tableChat, "local:a", chatA}, {tableChat, "local:b", chatB}, {tableOutbox, "local:a", outA}, {tableOutbox, "local:b", outB}} {
			if n := count(t, s, c.table, c.account); n != c.want {
				t.Errorf("%s: %s of %s has %d, want %d", when, c.table.Name, c.account, n, c.want)
			}
		}
	}
	expect("at first", 200, keepChatLines, 200, keepHeld)
	if rows := view(t, s, func(v *View) []OutboundRow { return v.Held("local:b", "") }); rows[0].Text != "50" {
		t.Errorf("the oldest held is %q", rows[0].Text)
	}
	clk.pass(keepHeldFor + time.Second)
	must(t, s.Sweep(ctx))
	expect("after a week", 200, keepChatLines, 100, 0) // what is yet to be delivered stays
	clk.pass(keepChat)
	must(t, s.Sweep(ctx))
	expect("after a month", 0, 0, 100, 0)
	if n := view(t, s, func(v *View) uint64 { return v.NewestChatSeq("local:b") }); n != keepChatLines+100+200 {
		t.Errorf("the newest sequence went back to %d", n)
	}
}

func TestSweepConfirmsAndConversations(t *testing.T) {
	s, clk := sweepStore(t)
	fillStore(t, s)
	clk.pass(keepEnded)
	must(t, s.Sweep(ctx))
	if n := len(view(t, s, (*View).Confirms)); n != 2 {
		t.Errorf("%d questions at 24 h", n)
	}
	clk.pass(time.Second)
	must(t, s.Sweep(ctx))
	if all := view(t, s, (*View).Confirms); len(all) != 1 || all[0].State != wire.Pending {
		t.Errorf("after 24 h: %+v", all)
	}
	clk.pass(keepConversation - keepEnded - time.Second)
	must(t, s.Sweep(ctx))
	if n := count(t, s, tableConversations, ""); n != 1 {
		t.Errorf("%d conversations at 90 days", n)
	}
	clk.pass(time.Second)
	must(t, s.Sweep(ctx))
	if n := count(t, s, tableConversations, ""); n != 0 {
		t.Errorf("%d conversations after 90 days", n)
	}
}

// What was written again between the look and the removal stays.
func TestSweepSparesWhatChanged(t *testing.T) {
	s, clk := sweepStore(t)
	fillStore(t, s)
	clk.pass(keepConversation + time.Hour)
	victims, err := s.findPast(ctx, tableConversations, clk.Now())
	must(t, err)
	if len(victims) != 1 {
		t.Fatalf("%d victims", len(victims))
	}
	must(t, s.Deliver(ctx, func(d *Delivery) error {
		return d.PutConversation(local, "c", Conversation{Agent: "a", LastUse: clk.Now()})
	}))
	must(t, s.removeVictims(ctx, tableConversations, victims))
	if n := count(t, s, tableConversations, ""); n != 1 {
		t.Error("a conversation in use was removed")
	}
}

// However much others write, what the owner wrote is not forgotten.
func TestTheOwnersSightingsStandApart(t *testing.T) {
	s, _ := sweepStore(t)
	door := func(x *txn) *Delivery { return &Delivery{Shared{View{x}}} }
	must(t, s.write(ctx, func(x *txn) error { return door(x).MarkOwnerSeen(local, "mine") }))
	inBulk(t, s, keepSeen+3*seenSlack, func(x *txn, i int) error { return door(x).MarkSeen(local, fmt.Sprint(i)) })
	must(t, s.Sweep(ctx))
	if n := count(t, s, tableSeen, local); n != keepSeen+1 {
		t.Errorf("%d ids after a sweep", n)
	}
	if !view(t, s, func(v *View) bool { return v.SeenMessage(local, "mine") }) {
		t.Error("others pushed out what the owner wrote")
	}
}

func TestSeenKeepsTheNewestSightings(t *testing.T) {
	s, _ := sweepStore(t)
	mark := func(x *txn, account, id string) error { return (&Delivery{Shared{View{x}}}).MarkSeen(account, id) }
	must(t, s.write(ctx, func(x *txn) error { return mark(x, "local:quiet", "old") }))
	inBulk(t, s, keepSeen, func(x *txn, i int) error { return mark(x, local, fmt.Sprint(i)) })
	must(t, s.write(ctx, func(x *txn) error { return mark(x, local, "0") })) // seen again: now the newest
	inBulk(t, s, 3*seenSlack, func(x *txn, i int) error { return mark(x, local, fmt.Sprint("new-", i)) })
	if n := count(t, s, tableSeen, local); n > keepSeen+2*seenSlack {
		t.Errorf("%d ids before any sweep", n)
	}
	must(t, s.Sweep(ctx))
	if n := count(t, s, tableSeen, local); n != keepSeen {
		t.Errorf("%d ids after a sweep", n)
	}
	for id, want := range map[string]bool{"0": true, "1": false, fmt.Sprint(keepSeen - 1): true, "new-0": true} {
		if got := view(t, s, func(v *View) bool { return v.SeenMessage(local, id) }); got != want {
			t.Errorf("%s is seen: %v", id, got)
		}
	}
	if !view(t, s, func(v *View) bool { return v.SeenMessage("local:quiet", "old") }) {
		t.Error("a busy account pushed out a quiet one's")
	}
}

func TestSweepQuarantine(t *testing.T) {
	s, clk := sweepStore(t)
	order := []int{}
	inBulk(t, s, keepQuarantine+20, func(x *txn, i int) error {
		clk.pass(time.Second)
		n := i * 37 % (keepQuarantine + 20) // keys in another order than their age
		order = append(order, n)
		return put(x, tableQuarantine, fmt.Appendf(nil, "claims/%03d", n), Quarantined{Reason: "test", At: clk.Now()})
	})
	must(t, s.Sweep(ctx))
	left := s.Quarantined()
	if len(left) != keepQuarantine {
		t.Fatalf("%d left", len(left))
	}
	for _, e := range left {
		if slices.ContainsFunc(order[:20], func(n int) bool { return fmt.Sprintf("%03d", n) == e.Key }) {
			t.Errorf("%s is older than what was dropped", e.Key)
		}
	}
}
