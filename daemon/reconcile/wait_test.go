package reconcile

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"scv/daemon/channel"
	"scv/wire"
)

func TestQuiesceHoldsUntilTheAccountIsGone(t *testing.T) {
	in(t, func(t *testing.T) {
		w := begin(t, &world{plays: map[string][]play{id: {{lingers: time.Second}}}})
		w.set(anAccount("a"))
		synctest.Wait()
		if err := w.loop.Quiesce(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if _, live := w.count(id); live != 0 {
			t.Fatal("it was not joined")
		}
		w.set(anAccount("a")) // still in the store: it must not come back
		time.Sleep(time.Minute)
		w.must(id, wire.Stopped, saysLogoutNow)
		w.set()
		w.set(anAccount("a")) // a new log-in
		w.must(id, wire.Starting, "")
		if err := w.loop.Quiesce(t.Context(), "test:unknown"); err != nil {
			t.Errorf("nothing runs of an unknown account: %v", err)
		}
	})
}

// A pass may forget an account between the moment that it leaves and the moment that it is held. Whoever signs in
// under that name later is not kept stopped for ever.
func TestHeldAfterItWasForgotten(t *testing.T) {
	in(t, func(t *testing.T) {
		w := begin(t, &world{})
		if err := w.loop.Quiesce(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if err := w.loop.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.set(anAccount("a"))
		synctest.Wait()
		w.must(id, wire.Starting, "")
	})
}

func TestQuiesceSaysWhenItCannotStop(t *testing.T) {
	in(t, func(t *testing.T) {
		w := begin(t, &world{plays: map[string][]play{id: {{lingers: time.Minute}}}})
		w.set(anAccount("a"))
		synctest.Wait()
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := w.loop.Quiesce(short, id); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("within a second: %v", err)
		}
		if err := w.loop.Quiesce(t.Context(), id); err == nil || time.Since(w.makes[id][0]) != DefaultStopGrace {
			t.Errorf("after the grace: %v", err)
		}
		time.Sleep(time.Minute)
		if err := w.loop.Quiesce(t.Context(), id); err != nil {
			t.Errorf("when it was joined: %v", err)
		}
	})
}

// A pass that read the settings before a log-out changed them must not bring the account back.
func TestAStalePassDoesNotReviveAHeldAccount(t *testing.T) {
	in(t, func(t *testing.T) {
		w := begin(t, &world{})
		w.set(anAccount("a"))
		release := w.holdNextRead()
		w.loop.Wake()
		synctest.Wait() // the pass has read and not yet applied
		if err := w.loop.Quiesce(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		release()
		synctest.Wait()
		if made, live := w.count(id); made != 1 || live != 0 {
			t.Errorf("made %d times, %d live", made, live)
		}
	})
}

// Sync must not be answered by a pass that read before the call.
func TestSyncWaitsForAPassThatBeganAfterIt(t *testing.T) {
	in(t, func(t *testing.T) {
		w := begin(t, &world{})
		release := w.holdNextRead()
		w.loop.Wake()
		synctest.Wait()
		w.put(anAccount("a"))
		done := make(chan error, 1)
		go func() { done <- w.loop.Sync(t.Context()) }()
		synctest.Wait()
		releaseNext := w.holdNextRead()
		release()
		synctest.Wait()
		select {
		case err := <-done:
			t.Errorf("answered by the pass that read before: %v", err)
		default:
		}
		releaseNext()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		w.must(id, wire.Starting, "")
	})
}

// Enabled accounts show stopped, the others what they were, and the one that hangs is named after the grace.
func TestShutDown(t *testing.T) {
	in(t, func(t *testing.T) {
		w := begin(t, &world{plays: map[string][]play{
			"test:hangs": {{lingers: time.Minute}}, "test:slow": {{lingers: 4 * time.Second}},
			"test:waits": {{makeErr: errors.New("no")}}, "test:failed": {{makeErr: channel.Permanent("log in")}},
		}})
		off := anAccount("off")
		off.Enabled = false
		w.set(anAccount("hangs"), anAccount("slow"), anAccount("waits"), anAccount("failed"), off)
		synctest.Wait()
		began := time.Now()
		err := w.end()
		if err == nil || !strings.Contains(err.Error(), "cannot stop test:hangs within 5s") || time.Since(began) != DefaultStopGrace {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		w.must("test:slow", wire.Stopped, "")
		w.must("test:waits", wire.Stopped, "")
		w.must("test:hangs", wire.Stopping, saysOverdue)
		w.must("test:failed", wire.Failed, "log in")
		w.must("test:off", wire.Disabled, "")
		if err := w.loop.Sync(t.Context()); !errors.Is(err, errEnded) {
			t.Errorf("Sync afterwards: %v", err)
		}
	})
}

// What is stopped before its goroutine came to run never makes an adapter.
func TestStoppedBeforeItBegan(t *testing.T) {
	in(t, func(t *testing.T) {
		w := begin(t, &world{})
		l := w.loop
		l.mu.Lock()
		a := &account{id: id, want: anAccount("a"), component: component{state: wire.Stopped}}
		l.accounts[id] = a
		l.begin(t.Context(), a)
		l.stop(a)
		l.unlock()
		if made, _ := w.count(id); made != 0 {
			t.Errorf("made %d times", made)
		}
	})
}

func TestUnreadableAccountsStayAsTheyAre(t *testing.T) {
	in(t, func(t *testing.T) {
		w := begin(t, &world{})
		w.set(anAccount("a"))
		w.mu.Lock()
		w.desired, w.unread = nil, errors.New("disk on fire")
		w.mu.Unlock()
		if err := w.loop.Sync(t.Context()); err == nil || !strings.Contains(err.Error(), "disk on fire") {
			t.Errorf("Sync: %v", err)
		}
		time.Sleep(time.Minute)
		if made, live := w.count(id); made != 1 || live != 1 {
			t.Errorf("made %d times, %d live", made, live)
		}
		if n := strings.Count(w.log.String(), "disk on fire"); n != 1 {
			t.Errorf("logged %d times", n)
		}
		w.mu.Lock()
		w.unread = nil
		w.mu.Unlock()
		time.Sleep(2 * DefaultInterval)
		if _, live := w.count(id); live != 0 {
			t.Error("the loop did not recover")
		}
	})
}

// A grace that runs out as the instance is joined says nothing about its successor.
func TestALateReportIsIgnored(t *testing.T) {
	in(t, func(t *testing.T) {
		w := begin(t, &world{plays: map[string][]play{id: {{}, {lingers: time.Second}}}})
		w.set(anAccount("a"))
		synctest.Wait()
		old := w.loop.accounts[id].run
		other := anAccount("a")
		other.Workspace = "/other"
		w.set(other)
		synctest.Wait()
		w.put()
		w.loop.Wake()
		synctest.Wait()
		w.loop.reportLate(old)
		w.must(id, wire.Stopping, "")
	})
}
