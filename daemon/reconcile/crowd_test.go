package reconcile

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"scv/daemon/channel"
	"scv/wire"
)

// hours of false time for TestACrowd; the fault it looks for was once seen only after days.
const hours = 2

// The crowd: 128 accounts, 64 flapping at 1 Hz, 16 hanging in stop, 8 expired. That there are never two
// of one account is asserted by world.enter throughout.
func TestACrowd(t *testing.T) {
	in(t, func(t *testing.T) {
		w := begin(t, &world{plays: map[string][]play{}})
		var all []Desired
		for i := range 128 {
			d := anAccount(fmt.Sprintf("n%03d", i))
			all = append(all, d)
			w.plays[d.Account.ID()] = []play{crowdPlay(i)}
		}
		w.set(all...)
		synctest.Wait()
		time.Sleep(time.Minute) // all are at their work
		before := runtime.NumGoroutine()

		var took []time.Duration
		for hour := range hours {
			for i := 64; i < 80; i++ { // these hang in stop, each hour
				all[i].Workspace = fmt.Sprint(hour)
			}
			w.put(all...)
			for range 60 {
				time.Sleep(time.Minute)
				for range 10 {
					began := realNow()
					health := w.loop.Health()
					took = append(took, realNow()-began)
					if len(health) != 128 {
						t.Fatalf("%d accounts are shown", len(health))
					}
				}
			}
		}
		synctest.Wait()
		if after := runtime.NumGoroutine(); after > before+8 {
			t.Errorf("%d goroutines became %d", before, after)
		}
		slices.Sort(took)
		p99 := took[len(took)*99/100]
		if p99 > 100*time.Millisecond {
			t.Errorf("status p99 is %v", p99)
		}
		for i, d := range all {
			checkCrowd(t, w, i, d.Account.ID())
		}
		t.Logf("goroutines %d, status p99 %v", before, p99)
	})
}

// crowdPlay is what the i-th account does.
func crowdPlay(i int) play {
	switch {
	case i < 64: // flaps: the connection lives for a second
		return play{contacts: []contact{{0, nil}}, lives: time.Second, ends: errors.New("cut")}
	case i < 80:
		return play{contacts: []contact{{0, nil}}, lingers: 7 * time.Minute}
	case i < 88:
		return play{lives: time.Second, ends: channel.Permanent("log in again")}
	default:
		return play{contacts: []contact{{0, nil}}}
	}
}

func checkCrowd(t *testing.T, w *world, i int, id string) {
	h, _ := w.health(id)
	made, live := w.count(id)
	switch {
	case i < 64:
		// A minute at most between lives of a second, jitter averaged: within 15 %, with the first quick steps.
		if want := hours*3600.0/61 + 6; math.Abs(float64(made)-want) > want*0.15 {
			t.Errorf("%s flapped %d times, want about %.0f", id, made, want)
		}
		if h.Restarts != uint64(made) && h.Restarts+1 != uint64(made) {
			t.Errorf("%s: %d attempts, %d restarts", id, made, h.Restarts)
		}
	case i < 80:
		if made != hours+1 || live != 1 || h.State != wire.Connected {
			t.Errorf("%s: made %d times, %d live, %s", id, made, live, h.State)
		}
	case i < 88:
		if made != 1 || h.State != wire.Failed {
			t.Errorf("%s: %d attempts, %s", id, made, h.State)
		}
	default:
		if made != 1 || live != 1 || h.State != wire.Connected {
			t.Errorf("%s: made %d times, %d live, %s", id, made, live, h.State)
		}
	}
}

// Field report 82: of three accounts only the one that is cut off connects anew.
func TestOnlyTheBrokenOneReconnects(t *testing.T) {
	in(t, func(t *testing.T) {
		w := begin(t, &world{plays: map[string][]play{"test:b": {{lives: time.Hour}, {}}}})
		w.set(anAccount("a"), anAccount("b"), anAccount("c"))
		time.Sleep(2 * time.Hour)
		for name, want := range map[string]int{"test:a": 1, "test:b": 2, "test:c": 1} {
			if made, live := w.count(name); made != want || live != 1 {
				t.Errorf("%s: made %d times, %d live", name, made, live)
			}
		}
	})
}
