package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"scv/internal/testexe"
)

const instance = "inst"

// handleOf gives each test a run of its own: a tag ties everything that carries it.
func handleOf(t *testing.T) string { return strings.ReplaceAll(t.Name(), "/", "-") }

func tagOf(t *testing.T) string { return tagVariable + "=" + instance + "/s1/" + handleOf(t) }

// member is a script that says it is there and stays.
func member(file string, more ...testexe.Step) testexe.Script {
	return append(testexe.Script(more), testexe.Step{WritePID: file}, testexe.Step{SleepMillis: forever})
}

func runOf(t *testing.T, c *Child) Run {
	return Run{Leader: c.ID(), Group: c.ID().PID, Instance: instance, Handle: handleOf(t)}
}

// Every shape that a run's processes take; all of them must be gone when Stop says so.
func TestStopLeavesNothingOfARun(t *testing.T) {
	ignore := testexe.Step{IgnoreTerm: true}
	for name, tc := range map[string]struct {
		leader  func(worker string) testexe.Script // its other process writes its pid to worker
		atLeast time.Duration                      // how long the stop must have waited
	}{
		"a wrapper and its worker": {leader: func(w string) testexe.Script {
			return testexe.Script{{Spawn: &testexe.Spawn{Script: member(w)}}, {WaitAll: true}}
		}},
		"three shells": {leader: func(w string) testexe.Script {
			wrap := func(s testexe.Script) testexe.Script {
				return testexe.Script{{Spawn: &testexe.Spawn{Script: s}}, {WaitAll: true}}
			}
			return wrap(wrap(wrap(member(w))))
		}},
		"the leader obeys, a member ignores TERM": {atLeast: termGrace, leader: func(w string) testexe.Script {
			return testexe.Script{{OnTerm: testexe.Code(0)}, {Spawn: &testexe.Spawn{Script: member(w, ignore)}}, {WaitAll: true}}
		}},
		"setsid": {leader: func(w string) testexe.Script {
			return member(w+".leader", testexe.Step{Spawn: &testexe.Spawn{Setsid: true, Script: member(w)}})
		}},
		"setsid and TERM ignored": {atLeast: termGrace, leader: func(w string) testexe.Script {
			return member(w+".leader", testexe.Step{Spawn: &testexe.Spawn{Setsid: true, Script: member(w, ignore)}})
		}},
		"setsid env -i": {leader: func(w string) testexe.Script {
			return member(w+".leader", testexe.Step{Spawn: &testexe.Spawn{Setsid: true, EmptyEnv: true, Script: member(w)}})
		}},
		"setsid, double fork": {leader: func(w string) testexe.Script {
			return member(w+".leader", testexe.Step{Spawn: &testexe.Spawn{Setsid: true, Double: true, Script: member(w)}})
		}},
		"double fork within the group, env -i": {leader: func(w string) testexe.Script {
			return member(w+".leader", testexe.Step{Spawn: &testexe.Spawn{EmptyEnv: true, Double: true, Script: member(w)}})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "worker")
			c := spawn(t, Spec{Env: []string{tagOf(t)}}, tc.leader(file))
			worker := pidIn(t, file)
			view := scan(t)
			if ties := Ties(view, runOf(t, c)); !slices.Contains(ties, worker) || !slices.Contains(ties, c.ID()) {
				t.Fatalf("ties %v do not hold worker %v and leader %v", ties, worker, c.ID())
			}
			begun := time.Now()
			stop(t, runOf(t, c))
			if took := time.Since(begun); took < tc.atLeast || took > tc.atLeast+termGrace {
				t.Errorf("took %v, want %v and not much more", took, tc.atLeast)
			}
			if worker.Alive() || c.ID().Alive() {
				t.Errorf("alive: worker %v, leader %v", worker.Alive(), c.ID().Alive())
			}
			wait(t, c)
		})
	}
}

// The leader is gone before anybody stops the run: its group number alone proves nothing, the tag does.
func TestStopAfterTheLeaderHasEnded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "worker")
	out, text := outFile(t)
	c := spawn(t, Spec{Env: []string{tagOf(t)}, Stdout: out}, testexe.Script{
		{Spawn: &testexe.Spawn{Script: member(file)}}, {WaitFile: file}, {Print: "done"},
	})
	begun := time.Now()
	wait(t, c) // the worker still holds its stdout
	if took := time.Since(begun); took > 5*time.Second || text() != "done\n" {
		t.Errorf("Wait took %v, output %q", took, text())
	}
	worker := pidIn(t, file)
	stop(t, Run{Leader: c.ID(), Group: c.ID().PID})
	if !worker.Alive() {
		t.Fatal("a group that nothing proved ours was signalled")
	}
	stop(t, runOf(t, c))
	if worker.Alive() {
		t.Error("the worker lives on")
	}
}

// Once tied, always tied: seen while the leader lived, found after it was killed.
func TestKnownTiesOutliveTheLeader(t *testing.T) {
	file := filepath.Join(t.TempDir(), "worker")
	c := spawn(t, Spec{Env: []string{tagOf(t)}}, member(file+".leader",
		testexe.Step{Spawn: &testexe.Spawn{Setsid: true, EmptyEnv: true, Script: member(file)}}))
	worker := pidIn(t, file)
	run := runOf(t, c)
	run.Known = Ties(scan(t), run)
	if err := unix.Kill(c.ID().PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wait(t, c)
	if ties := Ties(scan(t), runOf(t, c)); slices.Contains(ties, worker) {
		t.Fatalf("the worker is tied without an earlier pass: %v", ties)
	}
	stop(t, run)
	if worker.Alive() {
		t.Error("the worker lives on")
	}
}

// What left every tie behind is at least adopted, listed, stopped and reaped.
func TestAdoptedEscapeeIsFoundAndReaped(t *testing.T) {
	file := filepath.Join(t.TempDir(), "escapee")
	c := spawn(t, Spec{Env: []string{tagOf(t)}}, testexe.Script{
		{Spawn: &testexe.Spawn{Setsid: true, EmptyEnv: true, Double: true, Script: member(file)}}, {WaitFile: file},
	})
	escapee := pidIn(t, file)
	wait(t, c)
	view := scan(t)
	is := func(p Proc) bool { return p.ID == escapee }
	if adopted := table.Adopted(view); !slices.ContainsFunc(adopted, is) {
		t.Fatalf("not among the adopted: %v", adopted)
	}
	stop(t, Run{Known: []ID{escapee}})
	until(t, "its zombie is reaped", func() bool {
		table.ReapAdopted(scan(t))
		_, err := Lookup(escapee.PID)
		return err != nil
	})
}

func TestStopOfARunThatIsGone(t *testing.T) {
	c := spawn(t, Spec{}, testexe.Script{})
	wait(t, c)
	stop(t, runOf(t, c))
	stop(t, Run{})
}

// A decoy has the pid and group of the record, but it is not the process of the record.
func TestStopSparesAStranger(t *testing.T) {
	file := filepath.Join(t.TempDir(), "decoy")
	decoy := spawn(t, Spec{}, member(file)).ID()
	pidIn(t, file)
	for name, change := range map[string]func(*ID){
		"another start": func(id *ID) { id.Start-- },
		"another boot":  func(id *ID) { id.Boot = "earlier" },
	} {
		recorded := decoy
		change(&recorded)
		if recorded.Alive() {
			t.Errorf("%s: taken for alive", name)
		}
		stop(t, Run{Leader: recorded, Group: recorded.PID, Instance: instance, Handle: handleOf(t), Known: []ID{recorded}})
		if err := signalProcess(recorded, unix.SIGKILL); err == nil {
			t.Errorf("%s: signalled", name)
		}
		if err := signalGroup(recorded, recorded.PID, unix.SIGKILL); err == nil {
			t.Errorf("%s: group signalled", name)
		}
		if !decoy.Alive() {
			t.Fatalf("%s: the decoy was killed", name)
		}
	}
}

// Records like these would signal everybody, ourselves or our own group. The test would die of it.
func TestStopRefusesDamagedRecords(t *testing.T) {
	self, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{0, 1, -1, -5, 4294967295, 4294967296 + 1, maxPID + 1, self.PID} {
		id := ID{PID: pid, Start: self.Start, Boot: self.Boot}
		runs := []Run{{Leader: id}, {Known: []ID{id}}, {Group: pid}, {Leader: id, Group: pid}}
		if pid == 0 {
			runs = []Run{{Leader: id}, {Known: []ID{id}}} // group 0 is no group
		}
		for _, run := range runs {
			if _, err := table.Stop(t.Context(), run); err == nil {
				t.Errorf("accepted %+v", run)
			}
		}
		if signalProcess(id, 0) == nil || signalGroup(id, pid, 0) == nil || signalGroup(self, pid, 0) == nil {
			t.Errorf("a signal to %d was tried", pid)
		}
	}
	if _, err := table.Stop(t.Context(), Run{Leader: ID{PID: os.Getppid(), Boot: self.Boot}, Group: unix.Getpgrp()}); err == nil {
		t.Error("accepted our own group")
	}
}

// A process tied to the run sits in our own group: it is stopped alone, the group is not touched.
func TestStopOfAProcessInOurGroup(t *testing.T) {
	path, args := testexe.Command(testexe.Script{{SleepMillis: forever}})
	cmd := exec.Command(path, args...) // no group of its own
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	id, err := Lookup(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- cmd.Wait() }()
	until(t, "it is a child in the table's eyes", id.Alive)
	if err := signalProcess(id, unix.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := <-done; err == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != unix.SIGTERM {
		t.Errorf("ended otherwise: %v", err)
	}
}

// Processes that each live for a moment and leave a successor cannot be caught one by one; a signal to
// the group reaches whichever is there.
func TestStopOfARunThatForksAllTheTime(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh")
	}
	goOn := filepath.Join(t.TempDir(), "go-on") // it all ends when this is removed
	touch(t, goOn)
	c, err := table.Spawn(Spec{Path: sh, Env: []string{tagOf(t)}, Args: []string{"-c", `n() { if [ -e "$0" ]; then n & fi; }; n; while [ -e "$0" ]; do :; done`, goOn}})
	if err != nil {
		t.Fatal(err)
	}
	adopted := func() bool { return len(table.ReapAdopted(scan(t))) > 0 }
	until(t, "the chain goes on", adopted)
	stop(t, runOf(t, c))
	wait(t, c)
	if left := scan(t).Tagged(instance, handleOf(t)); len(left) > 0 {
		t.Errorf("still forking: %v", left)
	}
	if err := os.Remove(goOn); err != nil {
		t.Fatal(err)
	}
	until(t, "all of it is reaped", func() bool {
		table.ReapAdopted(scan(t))
		return len(scan(t).children[os.Getpid()]) == 0
	})
}

// The group comes first: as long as a member holds out, what is outside has got no signal.
func TestStopHeedsItsContext(t *testing.T) {
	file := filepath.Join(t.TempDir(), "outside")
	c := spawn(t, Spec{}, member(file+".leader", testexe.Step{IgnoreTerm: true},
		testexe.Step{Spawn: &testexe.Spawn{Setsid: true, Script: member(file)}}))
	outside := pidIn(t, file)
	pidIn(t, file+".leader")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	left, err := table.Stop(ctx, runOf(t, c))
	if err == nil || !slices.Equal(left, []ID{c.ID(), outside}) {
		t.Errorf("survivors %v, error %v", left, err)
	}
}

// The whole group is reached through its leader, also a dead one that nobody has reaped, and through
// any other member; not through a process that is not in it.
func TestSignalGroup(t *testing.T) {
	for name, through := range map[string]func(leader, worker ID) ID{
		"the leader": func(leader, _ ID) ID { return leader },
		"a zombie leader": func(leader, _ ID) ID {
			if err := signalProcess(leader, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			until(t, "the leader is dead", func() bool { return !leader.Alive() })
			return leader
		},
		"a member": func(_, worker ID) ID { return worker },
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "worker")
			c := spawn(t, Spec{}, testexe.Script{{Spawn: &testexe.Spawn{Script: member(file)}}, {SleepMillis: forever}})
			other := spawn(t, Spec{}, testexe.Script{{SleepMillis: forever}}).ID()
			worker := pidIn(t, file)
			if err := signalGroup(other, c.ID().PID, unix.SIGKILL); err == nil || !worker.Alive() {
				t.Fatalf("signalled through a stranger: %v", err)
			}
			if err := signalGroup(through(c.ID(), worker), c.ID().PID, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			until(t, "both are gone", func() bool { return !worker.Alive() && !c.ID().Alive() })
			if !other.Alive() {
				t.Error("a stranger was hit")
			}
		})
	}
}

// Eight runs of three processes each, half of them deaf to TERM, in the time of one.
func TestManyStopsAtOnce(t *testing.T) {
	dir := t.TempDir()
	var runs []Run
	var all []ID
	for i := range 8 {
		var first []testexe.Step
		if i%2 == 0 {
			first = append(first, testexe.Step{IgnoreTerm: true})
		}
		file := func(n int) string { return filepath.Join(dir, fmt.Sprint(i, "-", n)) }
		c := spawn(t, Spec{}, member(file(0), append(first,
			testexe.Step{Spawn: &testexe.Spawn{Script: member(file(1), first...)}},
			testexe.Step{Spawn: &testexe.Spawn{Setsid: true, EmptyEnv: true, Script: member(file(2))}},
		)...))
		runs = append(runs, Run{Leader: c.ID(), Group: c.ID().PID})
		for n := range 3 {
			all = append(all, pidIn(t, file(n)))
		}
	}
	begun := time.Now()
	var stops sync.WaitGroup
	for _, run := range runs {
		stops.Go(func() { stop(t, run) })
	}
	stops.Wait()
	if took := time.Since(begun); took > 12*time.Second {
		t.Errorf("took %v", took)
	}
	for _, id := range all {
		if id.Alive() {
			t.Errorf("alive: %v", id)
		}
	}
}
