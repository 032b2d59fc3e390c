package store

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"scv/wire"
)

const local = "local:default"

func TestQueueIsInOrderAndNeverReusesASequence(t *testing.T) {
	s := quickStore(t)
	var seqs []uint64
	add := func(text string) {
		must(t, s.Deliver(ctx, func(d *Delivery) error {
			seq, err := d.AddOutbound(local, Outbound{Kind: "reply", Text: text, ClientID: text})
			seqs = append(seqs, seq)
			return err
		}))
	}
	for i := range 300 { // past one byte of sequence
		add(fmt.Sprint(i))
	}
	must(t, s.Deliver(ctx, func(d *Delivery) error { return d.DeleteOutbound(local, seqs[299]) }))
	add("again")
	if seqs[300] <= seqs[299] || !slices.IsSorted(seqs) {
		t.Errorf("sequence %d after %d", seqs[300], seqs[299])
	}
	rows := view(t, s, func(v *View) []OutboundRow { return v.Outbox(local, 1000) })
	if len(rows) != 300 || rows[0].Text != "0" || rows[299].Text != "again" || rows[256].Text != "256" {
		t.Errorf("%d rows out of order", len(rows))
	}
}

func TestHeldIsOutOfTheQueue(t *testing.T) {
	s := quickStore(t)
	must(t, s.Deliver(ctx, func(d *Delivery) error {
		for _, o := range []Outbound{{Text: "1", Conversation: "a"}, {Text: "2", Conversation: "a"}, {Text: "3", Conversation: "b"}} {
			if _, err := d.AddOutbound("feishu:x", o); err != nil {
				return err
			}
		}
		_, err := d.AddOutbound("feishu:x-y", Outbound{Text: "other"})
		return err
	}))
	must(t, s.Deliver(ctx, func(d *Delivery) error {
		for _, row := range d.Outbox("feishu:x", 10) {
			if row.Conversation == "a" {
				row.Held = true
				if err := d.UpdateOutbound(row.Account, row.Seq, row.Outbound); err != nil {
					return err
				}
			}
		}
		return nil
	}))
	must(t, s.View(func(v *View) error {
		if head, ok := v.Head("feishu:x"); !ok || head.Text != "3" {
			t.Errorf("head is %+v", head)
		}
		if held := v.Held("feishu:x", "a"); len(held) != 2 || held[0].Text != "1" {
			t.Errorf("held are %+v", held)
		}
		if got := v.OutboxAccounts(); !slices.Equal(got, []string{"feishu:x", "feishu:x-y"}) {
			t.Errorf("accounts are %v", got)
		}
		return nil
	}))
	must(t, s.Deliver(ctx, func(d *Delivery) error { return d.DeleteOutbound("feishu:x", 3) }))
	if got := view(t, s, (*View).OutboxAccounts); !slices.Equal(got, []string{"feishu:x-y"}) {
		t.Errorf("only held ones left, yet the accounts are %v", got)
	}
}

func TestUpdateOfWhatIsGone(t *testing.T) {
	s := quickStore(t)
	for name, err := range map[string]error{
		"claim":  s.Deliver(ctx, func(d *Delivery) error { return d.UpdateClaim(local, 7, Claim{}) }),
		"outbox": s.Deliver(ctx, func(d *Delivery) error { return d.UpdateOutbound(local, 7, Outbound{}) }),
	} {
		if !errors.Is(err, ErrMissing) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAccountNamesThatWouldBreakKeys(t *testing.T) {
	s := quickStore(t)
	for _, account := range []string{"", "a/b", "local:default/"} {
		for name, err := range map[string]error{
			"claim":   s.Deliver(ctx, func(d *Delivery) error { _, err := d.PutClaim(account, Claim{}); return err }),
			"seen":    s.Deliver(ctx, func(d *Delivery) error { return d.MarkSeen(account, "m") }),
			"account": s.Intend(ctx, func(i *Intent) error { return i.PutAccount(account, testAccount()) }),
			"forget":  s.Deliver(ctx, func(d *Delivery) error { _, err := d.ForgetAccount(account, 5); return err }),
		} {
			if err == nil {
				t.Errorf("%s: %q was taken", name, account)
			}
		}
	}
}

func TestNothingIsStoredThatCouldNotBeRead(t *testing.T) {
	s := quickStore(t)
	before := s.commits.Load()
	live := Delegation{Agent: "a", State: RunLive, Leader: ProcessID{PID: 1, Start: 5, Boot: "b"}}
	for name, err := range map[string]error{
		"grant":     s.Intend(ctx, func(i *Intent) error { return i.PutAccount(local, Account{RemoteTools: "all", Senders: "owner"}) }),
		"pid 1":     s.Observe(ctx, func(o *Observation) error { return o.PutDelegation("h", live) }),
		"state":     s.Observe(ctx, func(o *Observation) error { return o.PutDelegation("h", Delegation{State: "gone"}) }),
		"no handle": s.Observe(ctx, func(o *Observation) error { return o.PutDelegation("", Delegation{State: RunEnded}) }),
		"unknown":   s.Observe(ctx, func(o *Observation) error { return o.PutConfirm(Confirm{ID: "1", State: wire.Unknown}) }),
		"no end":    s.Observe(ctx, func(o *Observation) error { return o.PutConfirm(Confirm{ID: "1", State: wire.No}) }),
		"bad UTF-8": s.Deliver(ctx, func(d *Delivery) error { _, err := d.PutClaim(local, Claim{Text: "\xff"}); return err }),
	} {
		if err == nil {
			t.Errorf("%s was stored", name)
		}
	}
	if n := s.commits.Load() - before; n != 0 {
		t.Errorf("%d commits", n)
	}
}

func TestChatLinesAreAddedOnce(t *testing.T) {
	s := quickStore(t)
	add := func(l ChatLine) (seq uint64, added bool) {
		must(t, s.Deliver(ctx, func(d *Delivery) (err error) {
			seq, added, err = d.AddChatLine(local, l)
			return err
		}))
		return seq, added
	}
	if n := view(t, s, func(v *View) uint64 { return v.NewestChatSeq(local) }); n != 0 {
		t.Errorf("newest of none is %d", n)
	}
	add(ChatLine{Kind: wire.ChatOwner, Text: `says "x-0"`, MessageID: "m1"})
	first, added := add(ChatLine{Kind: wire.ChatReply, ClientID: "x-0"})
	if !added {
		t.Error("the first is no repeat, though a text holds its id")
	}
	if again, added := add(ChatLine{Kind: wire.ChatReply, ClientID: "x-0"}); added || again != first {
		t.Errorf("repeat got sequence %d, added %v", again, added)
	}
	add(ChatLine{Kind: wire.ChatNotice})
	if _, added := add(ChatLine{Kind: wire.ChatNotice}); !added {
		t.Error("a line without a client id is never a repeat")
	}
	must(t, s.View(func(v *View) error {
		if seq, ok := v.FindChatMessage(local, "m1"); !ok || seq != 1 {
			t.Errorf("message found at %d, %v", seq, ok)
		}
		if _, ok := v.FindChatMessage(local, "x-0"); ok {
			t.Error("found a text for a message id")
		}
		lines := v.ChatLines(local, 1, 2)
		if len(lines) != 2 || lines[0].Seq != 3 || lines[1].Seq != 4 || v.NewestChatSeq(local) != 4 {
			t.Errorf("lines are %+v", lines)
		}
		return nil
	}))
}

func TestFinalStateNeverChanges(t *testing.T) {
	s := quickStore(t)
	fillStore(t, s)
	for _, state := range []wire.ConfirmState{wire.Pending, wire.No, wire.Expired} {
		err := s.Deliver(ctx, func(d *Delivery) error {
			c, _ := d.Confirm("ba9876543210")
			c.State = state
			return d.PutConfirm(c)
		})
		if err == nil {
			t.Errorf("yes became %s", state)
		}
	}
	must(t, s.Deliver(ctx, func(d *Delivery) error {
		c, _ := d.Confirm("ba9876543210")
		c.Hinted = true
		return d.PutConfirm(c)
	}))
	must(t, s.Intend(ctx, func(i *Intent) error {
		c, _ := i.Confirm("0123456789ab")
		c.State, c.Ended = wire.Withdrawn, s.clock.Now()
		return i.PutConfirm(c)
	}))
	must(t, s.View(func(v *View) error {
		if c, _ := v.Confirm("ba9876543210"); c.State != wire.Yes || !c.Hinted {
			t.Errorf("it is %+v", c)
		}
		if len(v.OpenConfirms()) != 0 || len(v.Confirms()) != 2 {
			t.Errorf("%d open of %d", len(v.OpenConfirms()), len(v.Confirms()))
		}
		if !v.CodeInUse(local, "main", "3f") || v.CodeInUse(local, "main", "ff") || v.CodeInUse(local, "other", "3f") {
			t.Error("codes in use are wrong")
		}
		return nil
	}))
}

func TestForgetAccountLeavesTheOthers(t *testing.T) {
	s := quickStore(t)
	fillStore(t, s)
	must(t, s.Deliver(ctx, func(d *Delivery) error {
		for n := range 50 {
			if err := d.MarkSeen("local:default-2", fmt.Sprint(n)); err != nil {
				return err
			}
			if err := d.MarkSeen(local, fmt.Sprint(n)); err != nil {
				return err
			}
		}
		return nil
	}))
	calls := 0
	for more := true; more; calls++ {
		must(t, s.Deliver(ctx, func(d *Delivery) (err error) {
			more, err = d.ForgetAccount(local, 20)
			return err
		}))
		if calls > 10 {
			t.Fatal("it never ends")
		}
	}
	if calls != 3 {
		t.Errorf("took %d calls", calls)
	}
	must(t, s.read(func(x *txn) error {
		for _, table := range accountTables {
			if left := x.firstKeys(table, accountPrefix(local), 10); len(left) > 0 {
				t.Errorf("%s has %d left", table.Name, len(left))
			}
		}
		if n := len(x.firstKeys(tableSeen, accountPrefix("local:default-2"), 100)); n != 50 {
			t.Errorf("the other account has %d left", n)
		}
		return nil
	}))
	if !view(t, s, func(v *View) bool { _, ok := v.Account(local); return ok }) {
		t.Error("the settings went too")
	}
}

// Open questions among many ended ones are found without reading those.
func TestManyQuestions(t *testing.T) {
	const open, each = 300, 20
	s := quickStore(t)
	now := s.clock.Now()
	inBulk(t, s, open*(each+1), func(x *txn, n int) error {
		c := Confirm{
			ID: fmt.Sprintf("%012x", n), Code: fmt.Sprintf("%02x", n%256), Account: local, Chat: "main",
			Question: "Deploy?", Asked: now, Noted: now, LastPolled: now, State: wire.Pending,
		}
		if n%(each+1) != 0 {
			c.State, c.Ended = wire.No, now
		}
		return (&Shared{View{x}}).PutConfirm(c)
	})
	few := timed(func() {
		if n := len(view(t, s, (*View).OpenConfirms)); n != open {
			t.Errorf("%d open", n)
		}
	})
	all := timed(func() {
		if n := len(view(t, s, (*View).Confirms)); n != open*(each+1) {
			t.Errorf("%d in all", n)
		}
	})
	code := timed(func() {
		if view(t, s, func(v *View) bool { return v.CodeInUse(local, "main", "zz") }) {
			t.Error("no question has this code")
		}
	})
	t.Logf("open ones in %v, all in %v, a free code in %v", few, all, code)
	if few > all/4 || code > all/4 {
		t.Error("the ended ones were read")
	}
}

func timed(fn func()) time.Duration {
	begin := time.Now()
	fn()
	return time.Since(begin)
}
