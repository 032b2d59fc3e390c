package reconcile

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"scv/daemon/channel"
	"scv/wire"
)

const id = "test:a"

// in runs a test in false time.
func in(t *testing.T, f func(t *testing.T)) { t.Helper(); synctest.Test(t, f) }

func TestConnectedNeedsAContact(t *testing.T) {
	in(t, func(t *testing.T) {
		w := begin(t, &world{plays: map[string][]play{id: {{contacts: []contact{
			{time.Minute, nil}, {time.Minute, errLost}, {time.Minute, nil},
		}}}}})
		w.set(anAccount("a"))
		w.must(id, wire.Starting, "")
		time.Sleep(time.Minute)
		at := uint64(time.Now().Unix())
		w.must(id, wire.Connected, "")
		time.Sleep(time.Minute)
		w.must(id, wire.Disconnected, "sign in again")
		if h, _ := w.health(id); h.LastSuccessUnixSeconds == nil || *h.LastSuccessUnixSeconds != at {
			t.Errorf("last success %v, want %d", h.LastSuccessUnixSeconds, at)
		}
		time.Sleep(time.Minute)
		w.must(id, wire.Connected, "")
		if made, _ := w.count(id); made != 1 || w.changes != 5 { // and once when the adapter was made
			t.Errorf("made %d times, told of %d changes", made, w.changes)
		}
	})
}

func TestUnchangedIsUntouched(t *testing.T) {
	in(t, func(t *testing.T) {
		w := begin(t, &world{})
		w.set(anAccount("a"))
		time.Sleep(time.Hour)
		if err := w.loop.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		if made, live := w.count(id); made != 1 || live != 1 {
			t.Errorf("made %d times, %d live", made, live)
		}
	})
}

// The delays double from 1 s to 60 s within ±10 %, and a run of 60 s takes them to the first again.
func TestBackoff(t *testing.T) {
	in(t, func(t *testing.T) {
		short := play{lives: time.Second, ends: errors.New("cut")}
		long := play{lives: time.Minute}
		w := begin(t, &world{plays: map[string][]play{id: {short, short, short, short, short, short, short, short, long, short, {}}}})
		w.set(anAccount("a"))
		time.Sleep(time.Hour)
		w.must(id, wire.Starting, "")
		lived := []time.Duration{1, 1, 1, 1, 1, 1, 1, 1, 60, 1}
		wants := []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 1, 2}
		at := w.makes[id]
		if len(at) != len(wants)+1 {
			t.Fatalf("%d attempts", len(at))
		}
		for i, want := range wants {
			got, want := at[i+1].Sub(at[i])-lived[i]*time.Second, want*time.Second
			if got < want*9/10 || got > want*11/10 {
				t.Errorf("delay %d is %v, want %v ±10 %%", i, got, want)
			}
		}
		if h, _ := w.health(id); h.Restarts != 10 {
			t.Errorf("restarts %d", h.Restarts)
		}
	})
}

func TestHowAttemptsEnd(t *testing.T) {
	for _, c := range []struct {
		name    string
		play    play
		state   wire.ComponentState
		problem string
		again   bool // within two minutes
	}{
		{"by itself", play{lives: time.Second}, wire.Backoff, saysEnded, true},
		{"with an error", play{lives: time.Second, ends: errors.New("token s3cret")}, wire.Backoff, saysEnded, true},
		{"after a lost contact", play{contacts: []contact{{0, errLost}}, lives: time.Second}, wire.Backoff, "sign in again", true},
		{"with a panic", play{lives: time.Second, in: "serve"}, wire.Backoff, saysPanicked, true},
		{"not made", play{makeErr: errors.New("s3cret")}, wire.Backoff, saysEnded, true},
		{"not made, panic", play{in: "make"}, wire.Backoff, saysPanicked, true},
		{"for good", play{lives: time.Second, ends: channel.Permanent("log in again\n")}, wire.Failed, "log in again", false},
		{"for good without advice", play{lives: time.Second, ends: channel.Permanent("")}, wire.Failed, saysSomething, false},
		{"not made for good", play{makeErr: channel.Permanent("no credentials")}, wire.Failed, "no credentials", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				w := begin(t, &world{plays: map[string][]play{id: {c.play, {}}}})
				w.set(anAccount("a"), anAccount("b"))
				time.Sleep(1100 * time.Millisecond)
				if c.play.lives == 0 && c.again { // it failed at once, and has been tried again by now
					w.must(id, wire.Starting, "")
				} else {
					w.must(id, c.state, c.problem)
				}
				if c.play.in != "" && (strings.Contains(w.log.String(), "s3cret") || !strings.Contains(w.log.String(), "world_test.go")) {
					t.Errorf("the log quotes the panic, or has no stack: %s", w.log.String())
				}
				time.Sleep(2 * time.Minute)
				if made, _ := w.count(id); (made == 2) != c.again || made > 2 {
					t.Errorf("attempts: %d", made)
				}
				if made, live := w.count("test:b"); made != 1 || live != 1 {
					t.Errorf("its neighbour: made %d times, %d live", made, live)
				}
			})
		})
	}
}

// Field report 39: what is gone without a word is started by the next pass.
func TestAVanishedInstanceIsStartedAgain(t *testing.T) {
	in(t, func(t *testing.T) {
		w := begin(t, &world{plays: map[string][]play{id: {{lives: time.Second, in: "exit"}, {}}}})
		w.set(anAccount("a"))
		time.Sleep(4 * time.Second)
		if made, live := w.count(id); made != 2 || live != 1 {
			t.Errorf("made %d times, %d live", made, live)
		}
	})
}

// Once is enough to know, and only a person changes it.
func TestFailedIsNotRetriedUntilAPersonActs(t *testing.T) {
	expired := play{ends: channel.Permanent("log in again"), lives: time.Second}
	changed, fresh := anAccount("a"), anAccount("a")
	changed.Workspace, fresh.Credentials = "/other", "new log-in"
	for name, act := range map[string]func(w *world){
		"a setting":       func(w *world) { w.set(changed) },
		"new credentials": func(w *world) { w.set(fresh) },
		"reload": func(w *world) {
			if err := w.loop.Reload(w.t.Context()); err != nil {
				w.t.Fatal(err)
			}
		},
		"off and on": func(w *world) {
			off := anAccount("a")
			off.Enabled = false
			w.set(off)
			w.must(id, wire.Disabled, "")
			w.set(anAccount("a"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				w := begin(t, &world{plays: map[string][]play{id: {expired, {}}}})
				w.set(anAccount("a"))
				time.Sleep(2 * time.Hour)
				w.set(anAccount("a")) // a wake alone is no act
				w.must(id, wire.Failed, "log in again")
				if made, _ := w.count(id); made != 1 {
					t.Fatalf("%d attempts", made)
				}
				act(w)
				w.must(id, wire.Starting, "")
			})
		})
	}
}

func TestBrokenIsLookedAtEachPass(t *testing.T) {
	in(t, func(t *testing.T) {
		w := begin(t, &world{})
		broken := anAccount("a")
		broken.Broken = "the workspace is gone"
		w.set(broken)
		w.must(id, wire.Failed, "the workspace is gone")
		w.put(anAccount("a"))
		time.Sleep(DefaultInterval)
		w.must(id, wire.Starting, "")
		w.put(broken)
		time.Sleep(DefaultInterval)
		w.must(id, wire.Failed, "the workspace is gone")
		broken.Broken = "the credentials are unreadable"
		w.put(broken)
		time.Sleep(DefaultInterval)
		w.must(id, wire.Failed, "the credentials are unreadable")
		if made, live := w.count(id); made != 1 || live != 0 {
			t.Errorf("made %d times, %d live", made, live)
		}
	})
}

func TestAChangeStopsJoinsAndStarts(t *testing.T) {
	in(t, func(t *testing.T) {
		w := begin(t, &world{plays: map[string][]play{id: {{lingers: 3 * time.Second}, {}}}})
		w.set(anAccount("a"))
		other := anAccount("a")
		other.Workspace = "/other"
		synctest.Wait()
		began := time.Now()
		w.set(other)
		if took := time.Since(began); took < 3*time.Second || took > 3100*time.Millisecond {
			t.Errorf("the change took %v", took)
		}
		if made, live := w.count(id); made != 2 || live != 1 {
			t.Errorf("made %d times, %d live", made, live)
		}
		w.must(id, wire.Starting, "")
		if h, _ := w.health(id); h.Restarts != 0 {
			t.Errorf("a stop on purpose counts as %d restarts", h.Restarts)
		}
	})
}

func TestAnAdapterThatDoesNotStop(t *testing.T) {
	in(t, func(t *testing.T) {
		w := begin(t, &world{plays: map[string][]play{id: {{lingers: 10 * time.Minute}, {}}}})
		w.set(anAccount("a"), anAccount("b"))
		other, neighbour := anAccount("a"), anAccount("b")
		other.Workspace, neighbour.Workspace = "/other", "/other"
		synctest.Wait()
		began := time.Now()
		w.set(other, neighbour)
		if took := time.Since(began); took != DefaultStopGrace {
			t.Errorf("the caller waited %v", took)
		}
		w.must(id, wire.Stopping, saysOverdue)
		if made, live := w.count("test:b"); made != 2 || live != 1 {
			t.Errorf("its neighbour: made %d times, %d live", made, live)
		}
		w.set(neighbour) // removed meanwhile: it is shown for as long as it is there
		w.must(id, wire.Stopping, saysOverdue)
		w.set(anAccount("a"), neighbour)
		if made, _ := w.count(id); made != 1 {
			t.Fatal("a second instance beside the first")
		}
		time.Sleep(10 * time.Minute)
		w.must(id, wire.Starting, "")
		if made, live := w.count(id); made != 2 || live != 1 {
			t.Errorf("made %d times, %d live", made, live)
		}
	})
}

func TestStopInBackoffIsAtOnce(t *testing.T) {
	in(t, func(t *testing.T) {
		w := begin(t, &world{plays: map[string][]play{id: {{makeErr: errors.New("no")}}}})
		w.set(anAccount("a"))
		time.Sleep(10 * time.Minute)
		began := time.Now()
		w.set()
		if took := time.Since(began); took != 0 {
			t.Errorf("took %v", took)
		}
		w.set()
		if _, shown := w.health(id); shown {
			t.Error("a removed account is still shown")
		}
	})
}

func TestRestartsNeverGoBackwards(t *testing.T) {
	in(t, func(t *testing.T) {
		w := begin(t, &world{plays: map[string][]play{id: {{lives: time.Second}, {lives: time.Second}, {}}}})
		w.set(anAccount("a"))
		time.Sleep(time.Minute)
		other := anAccount("a")
		other.Workspace = "/other"
		w.set(other)
		w.set()
		w.set()
		w.set(anAccount("a"))
		if h, _ := w.health(id); h.Restarts != 2 {
			t.Errorf("restarts %d after a replacement and a removal, want 2", h.Restarts)
		}
	})
}

func TestToggledTwoHundredTimes(t *testing.T) {
	for _, last := range []bool{true, false} {
		in(t, func(t *testing.T) {
			w := begin(t, &world{plays: map[string][]play{id: {{lingers: 15 * time.Millisecond}}}})
			d := anAccount("a")
			for i := range 200 {
				d.Enabled = (i%2 == 1) == last
				w.put(d)
				w.loop.Wake()
				time.Sleep(10 * time.Millisecond)
			}
			w.set(d)
			want, running := wire.Disabled, 0
			if last {
				want, running = wire.Starting, 1
			}
			w.must(id, want, "")
			if _, live := w.count(id); live != running {
				t.Errorf("%d live", live)
			}
		})
	}
}
