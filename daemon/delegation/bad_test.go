package delegation

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"scv/internal/testexe"
	"scv/store"
)

// A run is killed at any moment of the first two milliseconds of its process: nothing of it is left, and
// it has an end that can be reported.
func TestKillJustAfterTheSpawn(t *testing.T) {
	w := newWorld(t)
	mark := marker()
	var kills sync.WaitGroup
	var mu sync.Mutex
	answers := map[string]error{}
	n := howMany(100, 1000)
	each(n, func(i int) {
		handle := numbered(i)
		kills.Go(func() {
			<-w.begun(handle).spawned
			time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
			err := w.k.Kill(context.Background(), handle)
			mu.Lock()
			defer mu.Unlock()
			answers[handle] = err
		})
		run := shellRun(w.k, handle, w.home, `setsid sleep $0 & (setsid env -i "$(command -v sleep)" $0 &); sleep $0`, mark)
		r, err := w.k.Start(context.Background(), handle, placed(w.k), run)
		if err != nil {
			t.Error(err)
			return
		}
		<-r.Done()
		if result, err := r.Result(100); err != nil || result.Stopped != "on request" {
			t.Errorf("%s: %+v %v", handle, result, err)
		}
		if d, known := w.record(handle); !known || d.State != store.RunEnded {
			t.Errorf("%s: %+v", handle, d)
		}
		if err := w.k.Reported(context.Background(), handle); err != nil {
			t.Error(err)
		}
	})
	kills.Wait()
	for handle, err := range answers {
		if err != nil {
			t.Errorf("%s: %v", handle, err)
		}
	}
	w.late()
	if left := marked(t, mark); len(left) > 0 || len(answers) != n {
		t.Errorf("%d kills were answered, %d processes are left", len(answers), len(left))
	}
	w.nothingLeft()
}

// begun waits for a run that is being started.
func (w *world) begun(handle string) (r *Run) {
	until(w.t, "the run", func() bool {
		w.k.mu.Lock()
		defer w.k.mu.Unlock()
		r = w.k.own[handle]
		return r != nil
	})
	return r
}

// nothingLeft expects that there is no record, no folder, no cgroup and no child of ours.
func (w *world) nothingLeft() {
	w.t.Helper()
	w.pass()
	w.pass() // the first may have reaped only what its own stops had left
	s, err := w.k.List(true)
	must(w.t, err)
	folders, _ := os.ReadDir(w.file("runs"))
	left, err := cgroups.Handles(w.instance)
	must(w.t, err)
	if len(s.Entries) > 0 || len(folders) > 0 || len(left) > 0 {
		w.t.Errorf("left: %d records, %d folders, cgroups of %v", len(s.Entries), len(folders), left)
	}
	view, err := table.Scan()
	must(w.t, err)
	if children := view.ChildrenOf(w.k.o.Self); len(children) > 0 {
		w.t.Errorf("%d children are left, zombies counted: %+v", len(children), children[0])
	}
}

// Runs that end while somebody of theirs holds their input open.
func TestFinishedRunsLeaveNothing(t *testing.T) {
	w := newWorld(t)
	mark := marker()
	n := howMany(50, 300)
	each(n, func(i int) {
		handle := numbered(i)
		run := shellRun(w.k, handle, w.home, `sleep $0 <&0 & setsid sleep $0 <&0 & echo done`, mark)
		r, err := w.k.Start(context.Background(), handle, placed(w.k), run)
		if err != nil {
			t.Error(err)
			return
		}
		<-r.Done()
		if result, err := r.Result(100); err != nil || string(result.Output) != "done\n" || result.Stopped != "" {
			t.Errorf("%s: %+v, output %q, %v", handle, result, result.Output, err)
		}
		if err := w.k.Reported(context.Background(), handle); err != nil {
			t.Error(err)
		}
	})
	w.late()
	if left := marked(t, mark); len(left) > 0 {
		t.Errorf("%d processes are left", len(left))
	}
	w.nothingLeft()
}

// late is the pass that finds, where there are no cgroups, what was hidden from the end of its run: a process in the
// middle of an exec has no environment for a moment, and one with an empty environment is tied by nothing.
func (w *world) late() {
	if cgroups == "" {
		w.pass()
	}
}

// As many runs at once as a machine may see, listed and killed at once.
func TestManyRunsAtOnce(t *testing.T) {
	w := newWorld(t)
	mark := marker()
	n := howMany(60, 1000)
	runs := make([]*Run, n)
	each(n, func(i int) {
		var err error
		run := shellRun(w.k, numbered(i), w.home, `setsid sleep $0 & sleep $0`, mark)
		if runs[i], err = w.k.Start(context.Background(), numbered(i), placed(w.k), run); err != nil {
			t.Error(err)
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	await(t, time.Minute, "every process", func() bool { return len(marked(t, mark)) == 3*n })
	s, err := w.k.List(false)
	must(t, err)
	processes := 0
	for _, e := range s.Entries {
		processes += int(e.Processes)
	}
	if s.Active != uint64(n) || len(s.Entries) != n || processes != 3*n {
		t.Errorf("listed %d runs as active, %d entries, %d processes", s.Active, len(s.Entries), processes)
	}
	began := time.Now()
	w.pass()
	t.Logf("a pass over %d runs that writes down their processes: %v", n, time.Since(began))
	began = time.Now()
	w.pass()
	t.Logf("a pass with nothing new: %v", time.Since(began))
	began = time.Now()
	var kills sync.WaitGroup
	for i := range n {
		kills.Go(func() {
			if err := w.k.Kill(context.Background(), numbered(i)); err != nil {
				t.Error(err)
			}
		})
	}
	kills.Wait()
	t.Logf("%d kills at once: %v", n, time.Since(began))
	if left := marked(t, mark); len(left) > 0 {
		t.Errorf("%d processes are left", len(left))
	}
	each(n, func(i int) {
		<-runs[i].Done()
		if err := w.k.Reported(context.Background(), numbered(i)); err != nil {
			t.Error(err)
		}
	})
	w.nothingLeft()
}

// What nobody waited for is no process of a run, and is reaped when it falls to us.
func TestZombies(t *testing.T) {
	w := newWorld(t)
	r := w.start("fake-000001",
		testexe.Step{Spawn: &testexe.Spawn{Script: testexe.Script{{Print: "x"}}, Times: 20}},
		testexe.Step{WritePID: w.file("leader")}, testexe.Step{SleepMillis: forever})
	leader := pidIn(t, w.file("leader"))
	until(t, "twenty zombies", func() bool {
		view, err := table.Scan()
		must(t, err)
		zombies := 0
		for _, p := range view.ChildrenOf(leader) {
			if p.Zombie() {
				zombies++
			}
		}
		return zombies == 20
	})
	if s, err := w.k.List(false); err != nil || s.Entries[0].Processes != 1 {
		t.Errorf("listed: %+v, %v", s.Entries, err)
	}
	kill(t, w.k, "fake-000001")
	done(t, r)
	must(t, w.k.Reported(within(t), "fake-000001"))
	w.nothingLeft()
}

// An agent that cannot be started is an error in words and nothing else.
func TestProgramsThatCannotRun(t *testing.T) {
	w := newWorld(t)
	script := func(name, text string, mode os.FileMode) string {
		must(t, os.WriteFile(w.file(name), []byte(text), mode))
		must(t, os.Chmod(w.file(name), mode))
		return w.file(name)
	}
	for name, path := range map[string]string{
		"missing":                w.file("missing"),
		"not executable":         script("plain", "#!/bin/sh\n", 0o600),
		"a folder":               w.home,
		"no program":             script("text", "hello\n", 0o700),
		"an interpreter missing": script("interpreter", "#!/no/such/shell\n", 0o700),
	} {
		run := agentRun(w.k, "fake-000001", w.home, nil)
		run.Path = path
		r, err := w.k.Start(within(t), "fake-000001", placed(w.k), run)
		if err == nil || r != nil || !strings.Contains(err.Error(), filepath.Base(path)) {
			t.Errorf("%s: %v", name, err)
		}
		w.nothingLeft()
	}
	run := agentRun(w.k, "fake-000001", w.file("gone"), testexe.Script{{Print: "x"}})
	if _, err := w.k.Start(within(t), "fake-000001", placed(w.k), run); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder to work in: %v", err)
	}
	w.nothingLeft()
}

// A program that only prints is stopped long before the next pass, and the disk has its room back.
func TestOutputWithoutEnd(t *testing.T) {
	w := newWorld(t)
	largest := int64(howMany(4, 64)) << 20
	w.open(func(o *Options) { o.maxOutput = largest })
	r := w.shell("fake-000001", `exec head -c 1073741824 /dev/zero`)
	done(t, r)
	result, err := r.Result(KeptOutput - 1)
	if err != nil || !result.Truncated || len(result.Output) != KeptOutput-1 {
		t.Errorf("%d bytes, more %v, %v", len(result.Output), result.Truncated, err)
	}
	if info, err := os.Stat(w.file("runs/fake-000001/out")); err != nil || info.Size() > KeptOutput {
		t.Errorf("on disk: %v, %v", info.Size(), err)
	}
	must(t, w.k.Reported(within(t), "fake-000001"))
	w.nothingLeft()
}

func slowly(t *testing.T, w *world, handle string) *Run {
	t.Helper()
	return w.shell(handle, `while :; do head -c 1000000 /dev/zero; sleep 0.05; done`)
}

// The limit counts without any pass.
func TestOutputIsWatchedBetweenPasses(t *testing.T) {
	w := newWorld(t)
	w.open(func(o *Options) { o.maxOutput = 3 << 20 })
	r := slowly(t, w, "fake-000001")
	done(t, r)
	if why := r.Stopped(); why != "because it printed more than 3 MiB" {
		t.Errorf("stopped %q", why)
	}
	if !slices.Contains([]string{"SIGTERM", "SIGKILL"}, r.exit.Signal) {
		t.Errorf("ended by %+v", r.exit)
	}
}
