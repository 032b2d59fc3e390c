package daemon

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"scv/daemon/caller"
	"scv/internal/clock"
	"scv/store"
	"scv/wire"
)

const (
	crowdAccounts = 125
	crowdEach     = 8 // as many as may be open in a chat
	crowdMinutes  = 1
	askedEvery    = 15 * time.Second // by scv confirm
	maxCommits    = 50               // a second
)

// TestAThousandOpenQuestions: as many scripts that wait, each asking every 15 s, cost few commits, and none
// of their questions is withdrawn.
func TestAThousandOpenQuestions(t *testing.T) {
	home := newHome(t, "")
	synctest.Test(t, func(t *testing.T) {
		d := startInProcess(t, home, clock.NewVirtual())
		defer d.stop()
		ids := d.crowd()
		c := d.client(caller.Verdict{})
		defer c.Close()
		before := d.store.Commits()
		for range crowdMinutes * int(time.Minute/askedEvery) {
			for _, id := range ids {
				time.Sleep(askedEvery / time.Duration(len(ids))) // they did not all begin at once
				if got := stateOf(t, c, id); got != wire.Pending {
					t.Fatalf("question %s is %s", id, got)
				}
			}
		}
		commits := float64(d.store.Commits()-before) / (crowdMinutes * 60)
		t.Logf("%.1f commits a second", commits)
		if commits > maxCommits {
			t.Errorf("%.1f commits a second, more than %d", commits, maxCommits)
		}
	})
}

// crowd puts open questions on record. Their accounts need not run: what is measured is the waiting.
func (s *started) crowd() (ids []string) {
	s.t.Helper()
	now := s.clock.Now()
	err := s.store.Intend(s.t.Context(), func(tx *store.Intent) error {
		for a := range crowdAccounts {
			account := fmt.Sprintf("local:n%03d", a)
			for q := range crowdEach {
				id := fmt.Sprintf("%012x", len(ids)+1)
				ids = append(ids, id)
				if err := tx.PutConfirm(store.Confirm{
					ID: id, Code: fmt.Sprintf("%02x", q), Account: account, Chat: "local", Owner: localOwner(), Question: "Deploy?",
					Timeout: time.Hour, Asked: now, Noted: now, LastPolled: now, State: wire.Pending, Attempted: true, Opened: now.Wall,
				}); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.questions.load(); err != nil {
		s.t.Fatal(err)
	}
	return ids
}
