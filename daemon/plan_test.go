package daemon

import (
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"scv/daemon/restart"
	"scv/internal/clock"
	"scv/internal/layout"
	"scv/store"
)

// TestAPlanFoundAtStart: whatever a plan had come to, and whichever release starts, it has one outcome after
// that, which is told once, and no later start does anything with it again.
func TestAPlanFoundAtStart(t *testing.T) {
	self, err := restart.RunningHash()
	if err != nil {
		t.Fatal(err)
	}
	const id, other = "0123456789ab", "another"
	for _, step := range []store.RestartStep{store.RestartWaiting, store.RestartSwitching, store.RestartProving} {
		for _, c := range []struct {
			name    string
			target  string // SHA-256
			settled *restart.Settled
			updated bool
			says    string
		}{
			{"nothing under way, an older release starts", other, nil, false, "SCV did not restart into 2.0.0 and still runs 1.0.0: the daemon ended before it could."},
			{"nothing under way, the new release starts", self, nil, true, "SCV now runs 2.0.0."},
			{"rolled back", other, &restart.Settled{Plan: id, Why: "it was bad"}, false, "1.0.0"},
			{"accepted", self, &restart.Settled{Plan: id, Updated: true}, true, "SCV now runs 2.0.0."},
			{"another one is settled", other, &restart.Settled{Plan: "ba9876543210", Updated: true}, false, "SCV did not restart"},
			{"the old one could not be installed again", other, &restart.Settled{Plan: id, Why: "it was bad", Stuck: true}, false, "it was bad"},
		} {
			t.Run(string(step)+", "+c.name, func(t *testing.T) {
				home := newHome(t, "")
				synctest.Test(t, func(t *testing.T) {
					clk := clock.NewVirtual()
					d := startInProcess(t, home, clk)
					d.mustIntend(func(tx *store.Intent) error {
						return tx.PutRestartPlan(store.Restart{
							ID: id, Step: step, Binary: "/bin/scv", SHA256: c.target, FromVersion: "1.0.0", ToVersion: "2.0.0",
							Asked: clk.Now(), MaxWait: time.Minute,
						})
					})
					d.stop()
					if err := os.MkdirAll(home+"/"+layout.Restart, 0o700); err != nil {
						t.Fatal(err)
					}
					found := &restart.Start{Settled: c.settled}
					for range 5 {
						d = startAfter(t, home, clk, found)
						time.Sleep(5 * time.Second)
						d.heldOutcome(c.updated, c.says)
						d.stop()
						found = &restart.Start{}
					}
				})
			})
		}
	}
}

func (s *started) mustIntend(change func(*store.Intent) error) {
	s.t.Helper()
	if err := s.store.Intend(s.t.Context(), change); err != nil {
		s.t.Fatal(err)
	}
}

// heldOutcome holds the one outcome of all restarts against what it must be, and what the chat says of it.
func (s *started) heldOutcome(updated bool, says string) {
	s.t.Helper()
	err := s.store.View(func(v *store.View) error {
		all := v.Restarts()
		if len(all) != 1 || all[0].Step != store.RestartDone || !all[0].Told || all[0].Updated != updated || !strings.Contains(all[0].Outcome, says) {
			s.t.Errorf("the restarts are %+v", all)
			return nil
		}
		told := 0
		for _, row := range v.ChatLines(defaultLocal, 0, 1000) {
			if strings.Contains(row.ChatLine.Text, all[0].Outcome) {
				told++
			}
		}
		if told != 1 {
			s.t.Errorf("%q was told %d times", all[0].Outcome, told)
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}
