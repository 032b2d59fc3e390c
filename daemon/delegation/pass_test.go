package delegation

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"scv/daemon/process"
	"scv/internal/testexe"
	"scv/store"
	"scv/wire"

	"golang.org/x/sys/unix"
)

func writeFile(path string) error { return os.WriteFile(path, nil, 0o600) }

// An owner is killed with -9. Its runs are listed as orphans within 5 s and gone within 10 s.
func TestOrphans(t *testing.T) {
	w := newWorld(t)
	const many = 20
	var handles []string
	for i := range many {
		handles = append(handles, numbered(i))
	}
	w.owner("", handles...)
	var leaders []process.ID
	for _, handle := range handles {
		leaders = append(leaders, pidIn(t, w.file(handle)))
	}
	began := time.Now()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.k.Run(ctx) }()
	until(t, "the orphans", func() bool {
		s, err := w.k.List(true)
		must(t, err)
		whole := func(e wire.DelegationInfo) bool { return e.Orphaned && e.Processes == 2 }
		return len(s.Entries) == many && s.Active == 0 && !slices.ContainsFunc(s.Entries, func(e wire.DelegationInfo) bool { return !whole(e) || !slices.Contains(handles, e.Handle) })
	})
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("listed after %v", took)
	}
	if s, err := w.k.List(false); err != nil || len(s.Entries) != 0 {
		t.Errorf("listed without being asked for: %+v %v", s, err)
	}
	until(t, "the orphans to be gone", func() bool {
		s, err := w.k.List(true)
		must(t, err)
		return len(s.Entries) == 0 && s.Reaped == many
	})
	if took := time.Since(began); took > 10*time.Second || anyAlive(leaders...) {
		t.Errorf("gone after %v, alive %v", took, anyAlive(leaders...))
	}
	cancel()
	must(t, <-ended)
}

func TestKillOrphans(t *testing.T) {
	w := newWorld(t)
	w.owner("", "fake-000001", "fake-000002")
	other := w.start("fake-000003", testexe.Step{SleepMillis: forever})
	w.pass()
	killed, err := w.k.KillOrphans(within(t))
	if err != nil || !slices.Equal(killed, []string{"fake-000001", "fake-000002"}) || !other.child.ID().Alive() {
		t.Errorf("%v %v", killed, err)
	}
	if s, err := w.k.List(true); err != nil || s.Reaped != 2 || len(s.Entries) != 1 {
		t.Errorf("%+v %v", s, err)
	}
}

// The owner dies at each step of a run's life. Nothing of the run is left, neither a process nor a
// record; what it answered is there only if its end was recorded.
func TestOwnerDiesAtEachStep(t *testing.T) {
	for _, step := range []string{"starting", "spawned", "live", "gone", "ended"} {
		t.Run(step, func(t *testing.T) {
			w := newWorld(t)
			w.owner(step, "fake-000001")
			settle := w.claim("fake-000001")
			w.passes()
			if left := w.tagged("fake-000001"); len(left) > 0 {
				t.Errorf("processes left: %v", left)
			}
			_, result, err := w.k.Ended("fake-000001", 100)
			if step == "ended" {
				if err != nil || string(result.Output) != "the answer\n" || result.Exit.Code != 0 || result.Stopped != "" {
					t.Errorf("%+v, output %q, %v", result, result.Output, err)
				}
			} else if !errors.Is(err, ErrNotEnded) {
				t.Errorf("%+v %v", result, err)
			}
			settle()
			w.passes()
			if d, known := w.record("fake-000001"); known || exists(w.file("runs/fake-000001")) {
				t.Errorf("left for ever: %+v", d)
			}
			if s, err := w.k.Summary(); err != nil || (s.Reaped == 1) != (step != "ended") {
				t.Errorf("%+v %v", s, err)
			}
		})
	}
}

// Records with pids of nobody, of strangers, of ourselves: none is signalled, all are closed.
func TestDamagedRecords(t *testing.T) {
	w := newWorld(t)
	path, args := testexe.Command(testexe.Script{{SleepMillis: forever}})
	decoy, err := table.Spawn(process.Spec{Path: path, Args: args})
	must(t, err)
	t.Cleanup(func() {
		_, err := table.Stop(context.Background(), process.Run{Leader: decoy.ID(), Group: decoy.ID().PID})
		must(t, err)
		_, err = decoy.Wait()
		must(t, err)
	})
	self := w.k.o.Self
	stranger, reboot := decoy.ID(), decoy.ID()
	stranger.Start, stranger.Serial = stranger.Start+1, 0
	reboot.Boot = "another-boot"
	at := func(pid int) process.ID { return process.ID{PID: pid, Start: 1, Boot: self.Boot} }
	leaders := []process.ID{
		stranger, reboot, self, at(self.PID), at(0), at(1), at(-1), at(-decoy.ID().PID), at(4294967295),
		at(unix.Getpgrp()), at(os.Getppid()),
	}
	for i, leader := range leaders {
		d := about
		d.State, d.Owner, d.Leader = store.RunStarting, store.ProcessID(at(1)), store.ProcessID(leader)
		d.Ties = []store.ProcessID{store.ProcessID(stranger), store.ProcessID(at(4294967295)), store.ProcessID(at(unix.Getpgrp()))}
		w.put(fmt.Sprintf("fake-%06d", i), d)
	}
	w.passes()
	if !decoy.ID().Alive() {
		t.Error("a stranger was killed")
	}
	if s, err := w.k.List(true); err != nil || len(s.Entries) != 0 {
		t.Errorf("left for ever: %+v %v", s, err)
	}
}

// Without cgroups: a process without any tie, left by a run that has ended. It is stopped, but not while a run
// lives that could have started it.
func TestRunaway(t *testing.T) {
	w := newWorld(t)
	w.open(func(o *Options) { o.Cgroups = "" })
	live := w.start("fake-000001", testexe.Step{WaitFile: w.file("go on")})
	r := w.start("fake-000002", testexe.Step{Spawn: &testexe.Spawn{
		Double: true, Setsid: true, EmptyEnv: true,
		Script: testexe.Script{{WritePID: w.file("runaway")}, {SleepMillis: forever}},
	}}, testexe.Step{WaitFile: w.file("runaway")})
	runaway := pidIn(t, w.file("runaway"))
	done(t, r)
	must(t, w.k.Reported(within(t), "fake-000002"))
	w.pass()
	if !runaway.Alive() {
		t.Fatal("it was stopped while its run could still be alive")
	}
	must(t, writeFile(w.file("go on")))
	done(t, live)
	must(t, w.k.Reported(within(t), "fake-000001"))
	w.pass()
	if runaway.Alive() {
		t.Error("the runaway lives")
	}
	w.pass()
	if before := w.k.activity(); !before.quiet {
		t.Error("passes go on with nothing to look at")
	}
}

// A process once seen as tied stays so, though its tag is gone and its parent dead.
func TestTiesAreKept(t *testing.T) {
	w := newWorld(t)
	r := w.start("fake-000001",
		testexe.Step{Spawn: &testexe.Spawn{
			Script: testexe.Script{
				{Spawn: &testexe.Spawn{Setsid: true, EmptyEnv: true, Script: testexe.Script{{WritePID: w.file("child")}, {SleepMillis: forever}}}},
				{WaitFile: w.file("seen")},
			},
		}}, testexe.Step{WaitAll: true}, testexe.Step{WritePID: w.file("orphaned")}, testexe.Step{SleepMillis: forever})
	child := pidIn(t, w.file("child"))
	w.pass()
	if d, _ := w.record("fake-000001"); !slices.Contains(d.Ties, store.ProcessID(child)) {
		t.Fatalf("not tied: %+v", d.Ties)
	}
	must(t, writeFile(w.file("seen")))
	pidIn(t, w.file("orphaned"))
	kill(t, w.k, "fake-000001")
	if child.Alive() {
		t.Error("it got away")
	}
	done(t, r)
}

// What the callers' room is told of the runs.
func TestKnown(t *testing.T) {
	w := newWorld(t)
	r := w.start("fake-000001", testexe.Step{SleepMillis: forever})
	w.pass()
	known, err := w.k.Known()
	must(t, err)
	if len(known.Runs) != 1 || known.Runs[0].Leader.PID != r.child.ID().PID || known.Runs[0].PGID != r.child.ID().PID ||
		len(known.Runs[0].Ties) == 0 || known.Instance != w.instance || known.DaemonPID != os.Getpid() {
		t.Errorf("%+v", known)
	}
}
