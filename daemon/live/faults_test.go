package live

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"scv/daemon/process"
	"scv/internal/testexe"
	"scv/store"
)

func TestDiesBetweenTurns(t *testing.T) {
	w := newWorld(t, recalling(t.TempDir()))
	w.says("one", "one")
	must(t, syscall.Kill(w.record().Leader.PID, syscall.SIGKILL))
	w.empty()
	if !strings.Contains(w.logs.String(), "ended between turns") {
		t.Errorf("not logged:\n%s", w.logs)
	}
	w.says("two", "one|two")
}

// It is dead and nobody has noticed yet.
func TestDiesJustBeforeATurn(t *testing.T) {
	w := newWorld(t, recalling(t.TempDir()))
	want := "0"
	w.says("0", want)
	for range 10 {
		must(t, syscall.Kill(w.record().Leader.PID, syscall.SIGKILL))
		ask := w.ask("x")
		o := w.turn(ask)
		switch {
		case o.Err == nil && strings.HasPrefix(o.Reply.Text, want): // it was noticed
			want = o.Reply.Text
		case o.Err != nil && o.Ended:
			o = w.turn(w.ask("y"))
			if o.Err != nil || !strings.HasPrefix(o.Reply.Text, want) {
				t.Fatalf("%+v", o)
			}
			want = o.Reply.Text
		default:
			t.Fatalf("%+v; want %q", o, want)
		}
	}
}

func TestKilledByHandleWhenIdle(t *testing.T) {
	w := newWorld(t, recalling(t.TempDir()))
	o := w.says("one", "one")
	must(t, w.runs.Kill(t.Context(), o.Handle))
	w.empty()
	w.says("two", "one|two")
}

func TestKilledByHandleInATurn(t *testing.T) {
	w := newWorld(t, testexe.ACP{Turns: [][]testexe.ACPStep{{{Tool: "now"}, {Do: &testexe.Step{PrintErr: "oh"}}, {Do: &testexe.Step{SleepMillis: forever}}}}})
	ask := w.ask("one")
	killed := make(chan error, 1)
	ask.Progress = func(string) { killed <- w.runs.Kill(context.Background(), ask.Handle) }
	o, err := w.pool.Turn(t.Context(), ask)
	if err != nil || !o.Ended || o.Err == nil || o.Stopped != "on request" || o.Handle != ask.Handle {
		t.Errorf("%+v, %v", o, err)
	}
	must(t, <-killed)
	if d := w.record(); d.State != store.RunEnded {
		t.Errorf("%+v", d)
	}
	must(t, w.runs.Reported(t.Context(), o.Handle))
	w.empty()
}

func TestDiesInATurn(t *testing.T) {
	w := newWorld(t, testexe.ACP{Turns: [][]testexe.ACPStep{{
		{Do: &testexe.Step{Spawn: &testexe.Spawn{Setsid: true, Script: testexe.Script{{SleepMillis: forever}}}}},
		{Do: &testexe.Step{PrintErr: "out of luck"}},
		{Do: &testexe.Step{Exit: testexe.Code(3)}},
	}}})
	o := w.turn(w.ask("one"))
	if !o.Ended || o.Stopped != "" || o.Err == nil || !strings.Contains(o.Err.Error(), "ended in the middle") || string(o.Errors) != "out of luck\n" {
		t.Errorf("%+v", o)
	}
	w.empty()
}

func TestIsNoAgent(t *testing.T) {
	w := newWorldOf(t, testexe.Script{{PrintErr: "usage: fake"}, {Exit: testexe.Code(2)}})
	o := w.turn(w.ask("one"))
	if !o.Ended || o.Stopped != "" || o.Err == nil || string(o.Errors) != "usage: fake\n" {
		t.Errorf("%+v", o)
	}
	w.empty()
}

func TestCannotBeStarted(t *testing.T) {
	w := newWorldOf(t, nil)
	ask := w.ask("one")
	ask.Task.Workspace = w.file("nowhere")
	o := w.turn(ask)
	if _, ok := errors.AsType[*NotStartedError](o.Err); !ok || o.Ended || !errors.Is(o.Err, os.ErrNotExist) {
		t.Errorf("%+v", o)
	}
	w.empty()
}

// A turn that takes too long is cancelled; an agent that heeds it stays.
func TestTimeOut(t *testing.T) {
	w := newWorld(t, testexe.ACP{Turns: [][]testexe.ACPStep{{{WaitCancel: true}}, {{Recall: true}}}})
	ask := w.ask("one")
	ask.Limit = 200 * time.Millisecond
	o := w.turn(ask)
	if o.Stopped != "because it took longer than 200ms" || o.Err == nil {
		t.Fatalf("%+v", o)
	}
	if !o.Ended { // else it was not ready in that time
		w.says("two", "one|two")
	}
}

func TestNotReadyInTime(t *testing.T) {
	w := newWorldOf(t, testexe.Script{{IgnoreTerm: true}, {ReadAll: true}, {SleepMillis: forever}})
	ask := w.ask("one")
	ask.Limit = 100 * time.Millisecond
	if o := w.turn(ask); !o.Ended || o.Stopped != "because it took longer than 100ms" {
		t.Errorf("%+v", o)
	}
	w.empty()
}

// The daemon stops in the middle of a turn: nothing is left, nothing is reported.
func TestStoppedInATurn(t *testing.T) {
	for name, script := range map[string]testexe.Script{
		"working": {{ACP: &testexe.ACP{Turns: [][]testexe.ACPStep{{{Tool: "now"}, {Do: &testexe.Step{SleepMillis: forever}}}}}}},
		"opening": {{WritePID: "pid"}, {ReadAll: true}, {SleepMillis: forever}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorldOf(t, script)
			ctx, cancel := context.WithCancel(t.Context())
			ask := w.ask("one")
			ask.Progress = func(string) { cancel() }
			if name == "opening" {
				go func() {
					for !exists(w.file("pid")) {
						time.Sleep(time.Millisecond)
					}
					cancel()
				}()
			}
			began := time.Now()
			if o, err := w.pool.Turn(ctx, ask); !errors.Is(err, context.Canceled) || o.Ended {
				t.Errorf("%+v, %v", o, err)
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
			w.stop()
			w.empty()
		})
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Stubborn agents are stopped side by side when the daemon stops.
func TestStoppedWithManyStubborn(t *testing.T) {
	w := newWorldOf(t, testexe.Script{{IgnoreTerm: true}, {ACP: &testexe.ACP{Turns: [][]testexe.ACPStep{{{Say: "x"}}}}}, {SleepMillis: forever}})
	for _, c := range []string{"a", "b", "c", "d", "e"} {
		ask := w.ask(c)
		ask.Key.Conversation = c
		if o := w.turn(ask); o.Err != nil {
			t.Fatal(o.Err)
		}
	}
	began := time.Now()
	w.stop()
	if took := time.Since(began); took > 6*time.Second {
		t.Errorf("it took %v", took)
	}
	w.empty()
}

// After a crash of the daemon its idle agents are nobody's: they are stopped, and a turn begins anew.
func TestCrash(t *testing.T) {
	w := newWorld(t, recalling(t.TempDir()))
	o := w.says("one", "one")
	// The record's owner is another process, and gone.
	must(t, w.store.Observe(t.Context(), func(tx *store.Observation) error {
		d, _ := tx.Delegation(o.Handle)
		d.Owner = store.ProcessID{PID: 4 << 20, Start: 1, Boot: d.Owner.Boot}
		return tx.PutDelegation(o.Handle, d)
	}))
	leader := process.ID(w.record().Leader)
	w.open()
	w.says("two", "one|two")
	w.runs.Pass(t.Context())
	if s, err := w.runs.Summary(); err != nil || s.Active != 1 || *s.Idle != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	w.clk.Suspend(time.Minute)
	w.runs.Pass(t.Context())
	until(t, "the orphan to be gone", func() bool { return !leader.Alive() && len(w.records()) == 1 })
}
