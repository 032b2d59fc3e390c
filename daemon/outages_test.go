package daemon

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"scv/internal/clock"
	"scv/store"
	"scv/wire"
)

// silence is an account as it is seen, which changes; in the store there is none of it.
type silence struct {
	mu    sync.Mutex
	state wire.ComponentState
}

func (s *silence) set(state wire.ComponentState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = state
}

func (s *silence) health() []wire.ComponentHealth {
	s.mu.Lock()
	defer s.mu.Unlock()
	problem := "Feishu cannot be reached"
	return []wire.ComponentHealth{{ID: "feishu:work", Channel: "feishu", Account: "work", Enabled: true, State: s.state, Error: &problem}}
}

// watch runs the look at it beside the daemon's own until stop is called.
func (s *started) watch(seen *silence) (stop func()) {
	o := newOutages(s.Daemon)
	o.health = seen.health
	ctx, cancel := context.WithCancel(s.t.Context())
	done := make(chan error, 1)
	go func() { done <- o.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Error(err)
		}
	}
}

func (s *started) outageNotices() (texts []string) {
	s.t.Helper()
	err := s.store.View(func(v *store.View) error {
		for _, row := range v.ChatLines(defaultLocal, 0, 1000) {
			if row.ChatLine.Kind == wire.ChatNotice && strings.Contains(row.ChatLine.Text, "feishu:work") {
				texts = append(texts, row.ChatLine.Text)
			}
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return texts
}

// TestOutageIsToldOnce: in the owner's other chat, after ten minutes, once over restarts of the daemon; the next
// outage is told again, and one that needs a person at once.
func TestOutageIsToldOnce(t *testing.T) {
	home := newHome(t, "")
	synctest.Test(t, func(t *testing.T) {
		clk, seen := clock.NewVirtual(), &silence{state: wire.Disconnected}
		var d *started
		told := func(when string, want int) {
			t.Helper()
			synctest.Wait()
			if got := d.outageNotices(); len(got) != want {
				t.Errorf("%s: %q", when, got)
			}
		}
		for start := range 3 {
			d = startInProcess(t, home, clk)
			stop := d.watch(seen)
			time.Sleep(9 * time.Minute)
			told("after 9 minutes", min(start, 1))
			time.Sleep(2 * time.Minute)
			told("after 11 minutes", 1)
			time.Sleep(time.Hour)
			told("an hour later", 1)
			stop()
			d.stop()
		}
		d = startInProcess(t, home, clk)
		defer d.stop()
		defer d.watch(seen)()
		if text := d.outageNotices()[0]; !strings.HasSuffix(text, "10 minutes: Feishu cannot be reached.\nIf that does not pass by itself: scv channels login feishu --account work") {
			t.Errorf("told is %q", text)
		}
		seen.set(wire.Connected)
		time.Sleep(time.Minute)
		seen.set(wire.Backoff)
		time.Sleep(11 * time.Minute)
		told("in the next outage", 2)
		seen.set(wire.Connected)
		time.Sleep(time.Minute)
		seen.set(wire.Failed)
		time.Sleep(time.Minute)
		told("one that needs a person", 3)
	})
}

// TestAFailedAccountIsTold by the daemon's own look, and never through itself: where no other chat is there it waits
// for one.
func TestAFailedAccountIsTold(t *testing.T) {
	home := newHome(t, "")
	synctest.Test(t, func(t *testing.T) {
		d := startInProcess(t, home, clock.NewVirtual())
		defer d.stop()
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		set := func(id string, change func(*store.Account)) {
			t.Helper()
			must(d.store.Intend(t.Context(), func(tx *store.Intent) error {
				a := newLocal(wire.ToolsNone)
				change(&a)
				return tx.PutAccount(id, a)
			}))
			must(d.accounts.Sync(t.Context()))
			synctest.Wait()
		}
		notices := func(id string) (n int) {
			must(d.store.View(func(v *store.View) error {
				for _, row := range v.ChatLines(id, 0, 1000) {
					if strings.Contains(row.ChatLine.Text, "waits for you") {
						n++
					}
				}
				return nil
			}))
			return n
		}
		set(defaultLocal, func(a *store.Account) { a.Workspace = "/nowhere" })
		time.Sleep(time.Hour)
		if n := notices(defaultLocal); n != 0 {
			t.Errorf("%d notices through the affected account", n)
		}
		set("local:second", func(*store.Account) {})
		time.Sleep(time.Minute)
		if n := notices("local:second"); n != 1 {
			t.Errorf("%d notices through another", n)
		}
	})
}
