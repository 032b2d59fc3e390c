package delegation

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"scv/daemon/process"
	"scv/internal/testexe"
	"scv/store"
	"scv/wire"
)

func kill(t *testing.T, k *Keeper, handle string) {
	t.Helper()
	must(t, k.Kill(within(t), handle))
}

// A kill reaches what a plain group kill does not, and says that it is done only when it is.
func TestKillByHandle(t *testing.T) {
	w := newWorld(t)
	child := func(name string, s testexe.Spawn) testexe.Step {
		s.Script = append(s.Script, testexe.Step{WritePID: w.file(name)}, testexe.Step{SleepMillis: forever})
		return testexe.Step{Spawn: &s}
	}
	stubborn := testexe.Script{{IgnoreTerm: true}}
	r := w.start("fake-000001",
		child("plain", testexe.Spawn{}),
		child("double", testexe.Spawn{Double: true}),
		child("session", testexe.Spawn{Setsid: true}),
		child("stubborn-session", testexe.Spawn{Script: stubborn, Setsid: true, EmptyEnv: true}),
		testexe.Step{OnTerm: testexe.Code(0)}, testexe.Step{WritePID: w.file("leader")}, testexe.Step{SleepMillis: forever})
	var all []process.ID
	for _, name := range []string{"plain", "double", "session", "stubborn-session", "leader"} {
		all = append(all, pidIn(t, w.file(name)))
	}
	if s, err := w.k.List(false); err != nil || len(s.Entries) != 1 || s.Entries[0].Processes != 5 || s.Active != 1 {
		t.Errorf("listed %+v, %v", s, err)
	}
	kill(t, w.k, "fake-000001")
	if anyAlive(all...) {
		t.Error("something is alive after the kill was reported")
	}
	done(t, r)
	if result, err := r.Result(100); err != nil || result.Stopped != "on request" {
		t.Errorf("%+v %v", result, err)
	}
	if d, _ := w.record("fake-000001"); d.State != store.RunEnded || d.Stopped != "on request" {
		t.Errorf("record %+v", d)
	}
}

// Shell lines from reports of processes that outlived a kill elsewhere, all killed at once.
func TestKillShells(t *testing.T) {
	w := newWorld(t)
	lines := map[string]string{
		"fake-000001": `while :; do sleep 0.1; done & echo; wait`,
		"fake-000002": `sh -c 'sh -c "sh -c \"echo; sleep 60; :\"; :"; :'; :`,
		"fake-000003": `trap "exit 0" TERM; (trap "" TERM; echo; sleep 60)& wait`,
		"fake-000004": `setsid sleep 60 & setsid env -i sleep 60 & echo; wait`,
	}
	var all []process.ID
	for handle, line := range lines {
		run := agentRun(w.k, handle, w.home, nil)
		run.Path, run.Args = "/bin/sh", []string{"-c", line}
		run.Env = append(run.Env, "PATH=/usr/bin:/bin")
		r, err := w.k.Start(within(t), handle, placed(w.k), run)
		must(t, err)
		until(t, "its output", func() bool { return r.size() > 0 })
		view, err := table.Scan()
		must(t, err)
		all = append(all, r.child.ID())
		for _, p := range view.Descendants(r.child.ID()) {
			all = append(all, p.ID)
		}
	}
	if len(all) < 9 {
		t.Fatalf("only %d processes", len(all))
	}
	var kills sync.WaitGroup
	for handle := range lines {
		kills.Go(func() {
			if err := w.k.Kill(within(t), handle); err != nil {
				t.Error(err)
			}
		})
	}
	kills.Wait()
	if anyAlive(all...) {
		t.Error("something is alive")
	}
}

func TestKillUnknown(t *testing.T) {
	w := newWorld(t)
	if err := w.k.Kill(within(t), "fake-000009"); !refusedAs(err, wire.DelegationError) {
		t.Errorf("%v", err)
	}
}

// Two at once get the same answer, and one that comes after the end changes nothing.
func TestKillTwiceAndLate(t *testing.T) {
	w := newWorld(t)
	r := w.start("fake-000001", testexe.Step{SleepMillis: forever})
	second := make(chan error, 1)
	go func() { second <- w.k.Kill(within(t), "fake-000001") }()
	kill(t, w.k, "fake-000001")
	must(t, <-second)
	done(t, r)
	quick := w.start("fake-000002", testexe.Step{Print: "the answer"})
	done(t, quick)
	kill(t, w.k, "fake-000002")
	if result, err := quick.Result(100); err != nil || result.Stopped != "" || string(result.Output) != "the answer\n" {
		t.Errorf("%+v %v", result, err)
	}
}

// A kill that comes while the run is being started is not lost.
func TestKillWhileStarting(t *testing.T) {
	for _, at := range []string{"starting", "spawned", "live"} {
		t.Run(at, func(t *testing.T) {
			w := newWorld(t)
			killed := make(chan error, 1)
			w.step = func(name string) {
				if name != at {
					return
				}
				w.k.mu.Lock()
				r := w.k.own["fake-000001"]
				w.k.mu.Unlock()
				go func() { killed <- w.k.Kill(within(t), "fake-000001") }()
				until(t, "the kill", func() bool { return r.Stopped() != "" })
			}
			run := agentRun(w.k, "fake-000001", w.home, testexe.Script{{WritePID: w.file("ran")}, {SleepMillis: forever}})
			r, err := w.k.Start(within(t), "fake-000001", placed(w.k), run)
			must(t, <-killed)
			if left := w.tagged("fake-000001"); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			if at == "starting" {
				_, known := w.record("fake-000001")
				if err == nil || !strings.Contains(err.Error(), "on request") || known || exists(w.file("ran")) {
					t.Errorf("error %v, on record %v, ran %v", err, known, exists(w.file("ran")))
				}
				return
			}
			must(t, err)
			done(t, r)
			if r.Stopped() != "on request" {
				t.Errorf("stopped %q", r.Stopped())
			}
		})
	}
}

// The store is out of order: reads and writes fail, and a kill still works.
func TestKillWithoutStore(t *testing.T) {
	w := newWorld(t)
	r := w.start("fake-000001",
		testexe.Step{Spawn: &testexe.Spawn{Setsid: true, Script: testexe.Script{{WritePID: w.file("child")}, {SleepMillis: forever}}}},
		testexe.Step{SleepMillis: forever})
	child := pidIn(t, w.file("child"))
	must(t, w.store.Close())
	kill(t, w.k, "fake-000001")
	done(t, r)
	if child.Alive() {
		t.Error("the child lives")
	}
}

// A background child that holds the output, and ignores TERM, does not hold up the answer.
func TestBackgroundChildHoldsOutput(t *testing.T) {
	w := newWorld(t)
	r := w.start("fake-000001",
		testexe.Step{Spawn: &testexe.Spawn{Script: testexe.Script{{IgnoreTerm: true}, {WritePID: w.file("child")}, {SleepMillis: forever}}}},
		testexe.Step{WaitFile: w.file("child")}, testexe.Step{Print: "the answer"})
	child := pidIn(t, w.file("child"))
	<-r.exited
	began := time.Now()
	done(t, r)
	if took := time.Since(began); took > 5*time.Second || child.Alive() {
		t.Errorf("it took %v; child alive: %v", took, child.Alive())
	}
	if result, err := r.Result(100); err != nil || string(result.Output) != "the answer\n" || result.Stopped != "" {
		t.Errorf("%+v %v", result, err)
	}
}

func TestOutputIsBounded(t *testing.T) {
	for size, want := range map[int]string{1 << 20: "", 1<<20 + 1: "because it printed more than 1 MiB"} {
		w := newWorld(t)
		w.open(func(o *Options) { o.maxOutput = 1 << 20 })
		r := w.start("fake-000001", testexe.Step{WriteBytes: size}, testexe.Step{WaitFile: w.file("go on")})
		until(t, "the output", func() bool { return r.size() == int64(size) || r.Stopped() != "" })
		w.pass() // looks at it, should nobody have
		must(t, writeFile(w.file("go on")))
		done(t, r)
		if why := r.Stopped(); why != want {
			t.Errorf("%d bytes: stopped %q", size, why)
		}
	}
}

// What cannot be stopped stays on record when its run is reported, until a pass has stopped it.
func TestReportedWithSomethingLeft(t *testing.T) {
	w := newWorld(t)
	r := w.start("fake-000001", testexe.Step{Print: "x"})
	done(t, r)
	r.mu.Lock()
	r.left = true
	r.mu.Unlock()
	must(t, w.k.Reported(context.Background(), "fake-000001"))
	if _, known := w.record("fake-000001"); !known {
		t.Fatal("its record is gone")
	}
	w.passes()
	if _, known := w.record("fake-000001"); known {
		t.Error("its record is left for ever")
	}
}
