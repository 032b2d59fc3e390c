package delegation

import (
	"bufio"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"scv/internal/testexe"
	"scv/store"
)

// startLive starts a live agent; what it is told and says belongs to the test.
func (w *world) startLive(handle string, script ...testexe.Step) (*Run, io.Writer, *bufio.Reader) {
	w.t.Helper()
	r, err := w.k.StartLive(within(w.t), handle, placed(w.k), agentRun(w.k, handle, w.home, script))
	must(w.t, err)
	w.t.Cleanup(func() {
		if err := r.Stop(within(w.t), "by the end of the test"); err != nil {
			w.t.Error(err)
		}
		must(w.t, w.k.Reported(within(w.t), handle))
	})
	in, out := r.Streams()
	return r, in, bufio.NewReader(out)
}

func TestLiveAgentTalks(t *testing.T) {
	w := newWorld(t)
	onRecord := make(chan store.DelegationState, 1)
	w.step = func(step string) {
		if step == "live" {
			d, _ := w.record("fake-000001")
			onRecord <- d.State
		}
	}
	w.open()
	r, in, out := w.startLive("fake-000001", testexe.Step{ReadLine: true}, testexe.Step{Print: "first"}, testexe.Step{ReadLine: true}, testexe.Step{Print: "second"})
	if state := <-onRecord; state != store.RunLive {
		t.Errorf("told anything while %s", state)
	}
	for _, want := range []string{"first\n", "second\n"} {
		if _, err := io.WriteString(in, "go on\n"); err != nil {
			t.Fatal(err)
		}
		if got, err := out.ReadString('\n'); got != want {
			t.Errorf("says %q, %v; want %q", got, err, want)
		}
	}
	done(t, r)
	if rest, err := io.ReadAll(out); len(rest) > 0 || err != nil {
		t.Errorf("and then %q, %v", rest, err)
	}
}

// What was said last is heard, and the end of it too, though a process that got away holds the pipe.
func TestLiveAgentsLastWords(t *testing.T) {
	w := newWorld(t)
	last := strings.Repeat("x", 60<<10)
	away := testexe.Spawn{Double: true, Setsid: true, EmptyEnv: true, Script: testexe.Script{{WaitFile: w.file("go")}}}
	r, _, out := w.startLive("fake-000001", testexe.Step{Spawn: &away}, testexe.Step{Print: last})
	defer func() { must(t, os.WriteFile(w.file("go"), nil, 0o600)) }()
	done(t, r)
	if said, _ := io.ReadAll(out); string(said) != last+"\n" {
		t.Errorf("%d bytes were heard", len(said))
	}
}

func TestLiveAgentRests(t *testing.T) {
	w := newWorld(t)
	w.startLive("fake-000001", testexe.Step{ReadAll: true})
	state := func() (idle, active uint64, info bool, turn, jobs uint32) {
		s, err := w.k.List(false)
		must(t, err)
		e := s.Entries[0]
		if e.BackgroundJobs != nil {
			jobs = *e.BackgroundJobs
		}
		return *s.Idle, s.Active, e.IdleSinceUnixSeconds != nil, *e.Turn, jobs
	}
	check := func(when string, idle uint64, info bool, turn, jobs uint32) {
		t.Helper()
		if i, a, in, tu, j := state(); i != idle || a != 1 || in != info || tu != turn || j != jobs {
			t.Errorf("%s: idle %d, active %d, idle since %v, turn %d, jobs %d", when, i, a, in, tu, j)
		}
	}
	check("at first", 0, false, 1, 0)
	must(t, w.k.Resting(within(t), "fake-000001"))
	check("after a turn", 1, true, 1, 0)
	must(t, w.k.BackgroundJobs(within(t), "fake-000001", 3))
	check("with jobs", 0, true, 1, 3)
	must(t, w.k.BackgroundJobs(within(t), "fake-000001", 0))
	must(t, w.k.Working(within(t), "fake-000001", 2, "m2"))
	check("in the next turn", 0, false, 2, 0)
	must(t, w.k.Resting(within(t), "nobody-000001")) // it is gone by now
}

// A live agent may say as much as it likes over the weeks: its errors are cut, and it goes on.
func TestLiveAgentsErrorsAreBounded(t *testing.T) {
	w := newWorld(t)
	w.open(func(o *Options) { o.maxOutput = 16 << 10 })
	run := agentRun(w.k, "fake-000001", w.home, nil)
	run.Path, run.Args = "/bin/sh", []string{"-c", `while read x; do head -c 20000 /dev/zero | tr '\0' x >&2; echo "end $x" >&2; echo; done`}
	run.Env = append(run.Env, "PATH="+os.Getenv("PATH"))
	r, err := w.k.StartLive(within(t), "fake-000001", placed(w.k), run)
	must(t, err)
	in, out := r.Streams()
	lines := bufio.NewReader(out)
	for _, word := range []string{"one", "two", "three"} {
		_, err := io.WriteString(in, word+"\n")
		must(t, err)
		_, err = lines.ReadString('\n')
		must(t, err)
		w.pass()
		text, err := os.ReadFile(w.file("runs/fake-000001/err"))
		if err != nil || len(text) != KeptErrors || !strings.HasSuffix(string(text), "xx\nend "+word+"\n") && !strings.HasSuffix(string(text), "xxend "+word+"\n") {
			t.Errorf("%s: %d bytes, %v", word, len(text), err)
		}
	}
	must(t, r.Dismiss(within(t), "by the test"))
	if r.Stopped() != "" {
		t.Errorf("it was stopped %s", r.Stopped())
	}
	must(t, w.k.Reported(within(t), "fake-000001"))
}

// One that does not end with its input is stopped.
func TestDismissedAndStays(t *testing.T) {
	w := newWorld(t)
	r, _, _ := w.startLive("fake-000001", testexe.Step{SleepMillis: forever})
	began := time.Now()
	must(t, r.Dismiss(within(t), "by the test"))
	if took := time.Since(began); r.Stopped() != "by the test" || took < goodBye {
		t.Errorf("stopped %q after %v", r.Stopped(), took)
	}
}
