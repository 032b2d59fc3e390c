package delegation

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"scv/daemon/process"
	"scv/internal/testexe"
	"scv/store"
)

// The order of a start, seen from inside it: on record before there is a process, the leader on record
// before it is told anything.
func TestOrderOfStart(t *testing.T) {
	w := newWorld(t)
	ready, told := w.file("ready"), w.file("told")
	var steps []string
	w.step = func(name string) {
		if name == "gone" || name == "ended" {
			return
		}
		steps = append(steps, name)
		d, known := w.record("fake-000001")
		if !known {
			t.Errorf("%s: no record", name)
		}
		switch name {
		case "starting":
			if d.State != store.RunStarting || d.Leader.PID != 0 || len(w.tagged("fake-000001")) != 0 {
				t.Errorf("starting: %+v, processes %v", d, w.tagged("fake-000001"))
			}
		case "spawned":
			pidIn(t, ready)
			if d.State != store.RunStarting {
				t.Errorf("spawned: %+v", d)
			}
		case "live":
			if d.State != store.RunLive || process.ID(d.Leader) != pidIn(t, ready) {
				t.Errorf("live: %+v", d)
			}
			if exists(told) {
				t.Error("it was told its task before its leader was on record")
			}
		}
	}
	r := w.start("fake-000001", testexe.Step{WritePID: ready}, testexe.Step{ReadAll: true}, testexe.Step{WritePID: told})
	done(t, r)
	if !exists(told) || !slices.Equal(steps, []string{"starting", "spawned", "live"}) {
		t.Errorf("told %v, steps %v", exists(told), steps)
	}
}

func TestRunAndReport(t *testing.T) {
	w := newWorld(t)
	r := w.start("fake-000001",
		testexe.Step{PrintEnv: "SCV_PARENT"}, testexe.Step{PrintEnv: "SCV_DELEGATION_DEPTH"}, testexe.Step{PrintEnv: "HOME"},
		testexe.Step{PrintErr: "not part of it"}, testexe.Step{Echo: true}, testexe.Step{Exit: testexe.Code(3)})
	done(t, r)
	result, err := r.Result(1000)
	must(t, err)
	want := "SCV_PARENT=" + w.instance + "/chat-1/fake-000001\nSCV_DELEGATION_DEPTH=1\nHOME (unset)\ntask\n"
	if string(result.Output) != want || result.Exit.Code != 3 || result.Stopped != "" || result.Truncated {
		t.Errorf("%+v, output %q", result, result.Output)
	}
	if result, err := r.Result(10); err != nil || string(result.Output) != want[:10] || !result.Truncated {
		t.Errorf("cut: %q %v", result.Output, err)
	}
	if d, _ := w.record("fake-000001"); d.State != store.RunEnded || d.ExitCode != 3 {
		t.Errorf("record %+v", d)
	}
	if info, err := os.Stat(w.file("runs/fake-000001/out")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("output file: %v %v", info, err)
	}
	must(t, w.k.Reported(within(t), "fake-000001"))
	if _, known := w.record("fake-000001"); known || exists(w.file("runs/fake-000001")) {
		t.Error("its record or its output is still there")
	}
}

// The leader may be gone before it is recorded as live: the end must win.
func TestEndBeforeLeaderIsRecorded(t *testing.T) {
	w := newWorld(t)
	ended := make(chan struct{})
	w.step = func(name string) {
		switch name {
		case "spawned":
			<-ended
		case "ended":
			close(ended)
		}
	}
	r := w.start("fake-000001", testexe.Step{Print: "quick"})
	done(t, r)
	if d, _ := w.record("fake-000001"); d.State != store.RunEnded {
		t.Errorf("record %+v", d)
	}
	if _, result, err := w.k.Ended("fake-000001", 100); err != nil || string(result.Output) != "quick\n" {
		t.Errorf("%+v %v", result, err)
	}
}

// Whatever step of a start the store fails at, no process is left, and no record for ever.
func TestStoreFailsDuringStart(t *testing.T) {
	for _, at := range []string{"before", "starting", "spawned"} {
		t.Run(at, func(t *testing.T) {
			w := newWorld(t)
			w.step = func(name string) {
				if name == at {
					must(t, w.store.Close())
				}
			}
			w.step("before")
			run := agentRun(w.k, "fake-000001", w.home, testexe.Script{{SleepMillis: forever}})
			_, err := w.k.Start(within(t), "fake-000001", placed(w.k), run)
			if !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("error %v", err)
			}
			if left := w.tagged("fake-000001"); len(left) > 0 {
				t.Errorf("processes left: %v", left)
			}
			w.step = func(string) {}
			w.open()
			w.passes()
			if d, known := w.record("fake-000001"); known || exists(w.file("runs/fake-000001")) {
				t.Errorf("left for ever: %+v", d)
			}
		})
	}
}

func TestAgentCannotBeStarted(t *testing.T) {
	w := newWorld(t)
	run := agentRun(w.k, "fake-000001", w.home, nil)
	run.Path = w.file("missing")
	if _, err := w.k.Start(within(t), "fake-000001", placed(w.k), run); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if _, known := w.record("fake-000001"); known || exists(w.file("runs/fake-000001")) {
		t.Error("a record or a folder is left")
	}
}

func TestDepthLimit(t *testing.T) {
	for depth, allowed := range map[uint32]bool{0: true, 1: true, 2: false} {
		w := newWorld(t)
		w.open(func(o *Options) { o.Depth, o.Parent = depth, "outer/s/codex-1" })
		run := agentRun(w.k, "fake-000001", w.home, testexe.Script{{PrintEnv: "SCV_PARENT"}})
		r, err := w.k.Start(within(t), "fake-000001", placed(w.k), run)
		if allowed != (err == nil) {
			t.Fatalf("depth %d: %v", depth, err)
		}
		if !allowed {
			if _, known := w.record("fake-000001"); known || !strings.Contains(err.Error(), "2 deep") {
				t.Errorf("on record: %v; error %v", known, err)
			}
			continue
		}
		done(t, r)
		if result, _ := r.Result(1000); string(result.Output) != "SCV_PARENT=outer/s/codex-1;"+w.instance+"/chat-1/fake-000001\n" {
			t.Errorf("depth %d: tag %q", depth, result.Output)
		}
	}
}

// A pass in the middle of a start must not take the run for an orphan: nobody owns it only by the record.
func TestPassDuringStart(t *testing.T) {
	w := newWorld(t)
	w.step = func(string) {
		w.pass()
		w.clk.Suspend(orphanGrace)
		w.pass()
		if s, err := w.k.Summary(); err != nil || s.Active != 1 {
			t.Errorf("%+v %v", s, err)
		}
	}
	r := w.start("fake-000001", testexe.Step{Echo: true})
	done(t, r)
	if result, err := r.Result(100); err != nil || string(result.Output) != "task\n" {
		t.Errorf("%+v %v", result, err)
	}
}

// A leader that ends without reading, while another process holds its standard input open.
func TestTaskNobodyReads(t *testing.T) {
	w := newWorld(t)
	run := agentRun(w.k, "fake-000001", w.home, nil)
	run.Path, run.Args = "/bin/sh", []string{"-c", "exec 3<&0; sleep 60 & exit 0"}
	run.Stdin = strings.Repeat("x", 1<<20)
	r, err := w.k.Start(within(t), "fake-000001", placed(w.k), run)
	must(t, err)
	done(t, r)
	if left := w.tagged("fake-000001"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestHandles(t *testing.T) {
	if a, b := NewHandle("claude"), NewHandle("claude"); a == b || len(a) != len("claude-012345") {
		t.Errorf("%q %q", a, b)
	}
}

// Folders of runs that are not on record belong to nobody.
func TestClearFolders(t *testing.T) {
	w := newWorld(t)
	done(t, w.start("fake-000001", testexe.Step{Print: "kept"}))
	must(t, os.MkdirAll(w.file("runs/fake-0000ff"), 0o700))
	must(t, os.WriteFile(w.file("runs/fake-0000ff/out"), []byte("secret"), 0o600))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	must(t, w.k.Run(ctx))
	if exists(w.file("runs/fake-0000ff")) || !exists(w.file("runs/fake-000001/out")) {
		t.Error("the wrong folder was removed")
	}
}
