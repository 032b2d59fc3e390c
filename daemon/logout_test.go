package daemon

import (
	"testing"
	"testing/synctest"

	"scv/daemon/caller"
	"scv/internal/clock"
	"scv/store"
	"scv/wire"
)

// leaver is an account of crowd that leaves.
const leaver = "local:n001"

// checkLeft wants the leaver's questions withdrawn, and the others' open.
func (s *started) checkLeft(ids []string) {
	s.t.Helper()
	c := s.client(caller.Verdict{})
	defer c.Close()
	for i, id := range ids[:3*crowdEach] {
		want := wire.Pending
		if i/crowdEach == 1 {
			want = wire.Withdrawn
		}
		if got := stateOf(s.t, c, id); got != want {
			s.t.Errorf("question %d is %s", i, got)
		}
	}
}

// All questions of an account that leaves are withdrawn in one commit, and those of no other.
func TestQuestionsLeaveTogether(t *testing.T) {
	home := newHome(t, "")
	synctest.Test(t, func(t *testing.T) {
		d := startInProcess(t, home, clock.NewVirtual())
		defer d.stop()
		ids := d.crowd()
		before := d.store.Commits()
		must(t, d.questions.withdrawAll(t.Context(), leaver))
		if n := d.store.Commits() - before; n != 1 {
			t.Errorf("%d commits", n)
		}
		d.checkLeft(ids)
	})
}

// A crash in the middle of a log-out leaves no question behind that whoever signs in next could answer.
func TestQuestionsLeaveOverACrash(t *testing.T) {
	home := newHome(t, "")
	synctest.Test(t, func(t *testing.T) {
		clk := clock.NewVirtual()
		d := startInProcess(t, home, clk)
		ids := d.crowd()
		must(t, d.store.Intend(t.Context(), func(tx *store.Intent) error {
			return tx.PutAccount(leaver, store.Account{RemoteTools: wire.ToolsNone, Senders: wire.SendersOwner, LoggingOut: true})
		}))
		d.stop()
		d = startInProcess(t, home, clk)
		defer d.stop()
		d.checkLeft(ids)
	})
}
