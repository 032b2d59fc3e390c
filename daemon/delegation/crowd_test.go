package delegation

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"scv/daemon/agent"
	"scv/daemon/process"
	"scv/internal/clock"
	"scv/store"
)

// howMany is how large a test is: short in make check, long in make nightly.
func howMany(short, long int) int {
	if os.Getenv("SCV_LONG") != "" {
		return long
	}
	return short
}

// shapes is a line of shell whose processes take every shape: a leader, a child in its group, one in a session of
// its own, and one that was forked twice, with an empty environment. All carry the marker as their argument,
// which is a time to sleep.
const shapes = `sleep $0 & setsid sleep $0 & (setsid env -i "$(command -v sleep)" $0 &) ; wait`

const shapesOfARun = 4

// marker is a time to sleep that nobody else on this machine sleeps: about ten minutes.
func marker() string {
	var b [8]byte
	rand.Read(b[:])
	return fmt.Sprintf("600.%019d", binary.NativeEndian.Uint64(b[:])>>1)
}

// shellRun is a run of a line of shell with the marker as its $0.
func shellRun(k *Keeper, handle, home, line, marker string) agent.Run {
	run := agentRun(k, handle, home, nil)
	run.Path, run.Args = "/bin/sh", []string{"-c", line, marker}
	run.Env = append(run.Env, "PATH="+os.Getenv("PATH"))
	return run
}

// marked are the processes that have the marker among their arguments, zombies not counted.
func marked(t testing.TB, marker string) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	must(t, err)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		args, err := os.ReadFile("/proc/" + e.Name() + "/cmdline") // a zombie has none
		if err == nil && bytes.Contains(args, []byte("\x00"+marker+"\x00")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// await is until for a look that costs much.
func await(t testing.TB, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %v in vain: %s", limit, what)
		}
	}
}

// each calls act for n numbers, a few at a time.
func each(n int, act func(int)) {
	var all sync.WaitGroup
	next := make(chan int)
	for range min(n, 8) {
		all.Go(func() {
			for i := range next {
				act(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
}

func numbered(i int) string { return fmt.Sprintf("fake-%06x", i) }

// decoys are processes of every shape that are no run of ours: some with another instance's tag, in a
// cgroup with another instance's name.
func (w *world) decoys(n int) string {
	mark := marker()
	for i := range n / shapesOfARun {
		c, err := table.Spawn(process.Spec{
			Path: "/bin/sh", Args: []string{"-c", shapes, mark},
			Env:    []string{"PATH=" + os.Getenv("PATH"), "SCV_PARENT=x" + w.instance + "/chat-1/" + numbered(i)},
			Cgroup: cgroups.For("x"+w.instance, numbered(i)),
		})
		must(w.t, err)
		w.t.Cleanup(func() {
			run := process.Run{Leader: c.ID(), Group: c.ID().PID, Instance: "x" + w.instance, Handle: numbered(i), Cgroup: c.Cgroup()}
			if _, err := table.Stop(context.Background(), run); err != nil {
				w.t.Error(err)
			}
			if _, err := c.Wait(); err != nil {
				w.t.Error(err)
			}
		})
	}
	await(w.t, limit, "the decoys", func() bool { return len(marked(w.t, mark)) == n })
	return mark
}

// crowdMode makes the test binary an SCV process with many runs. Its value is how many.
const crowdMode = "SCV_DELEGATION_TEST_CROWD"

// markerVariable hands on the marker: among its arguments it would mark a process of the test.
const markerVariable = "SCV_DELEGATION_TEST_MARKER"

// crowded is the exit code of the process that starts the runs, or of the one around it.
func crowded(runs string) int {
	n, err := strconv.Atoi(runs)
	switch {
	case err != nil:
	case os.Getenv(cradleMode) != "":
		err = beCradle(os.Args[1:])
	default:
		err = beCrowd(n, os.Args[1], os.Args[2], os.Getenv(markerVariable))
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// beCrowd starts the runs and never ends by itself.
func beCrowd(n int, home, instance, marker string) error {
	ctx := context.Background()
	s, err := store.Open(ctx, store.Options{Path: storeIn(home), Clock: clock.System{}, Instance: instance})
	if err != nil {
		return err
	}
	self, err := process.Self()
	if err != nil {
		return err
	}
	k := New(options(home, instance, s, clock.System{}, self))
	failed := make(chan error, n)
	each(n, func(i int) {
		_, err := k.Start(ctx, numbered(i), placed(k), shellRun(k, numbered(i), home, shapes, marker))
		failed <- err
	})
	for range n {
		if err := <-failed; err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(home, "started"), nil, 0o600); err != nil {
		return err
	}
	select {}
}

// cradleMode makes the test binary what init is on a machine: it takes over the orphans of the SCV that it
// starts, and reaps them. So the next SCV is not among their ancestors.
const cradleMode = "SCV_DELEGATION_TEST_CRADLE"

func beCradle(args []string) error {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), cradleMode+"=")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	fmt.Println(cmd.Process.Pid)
	_ = cmd.Wait() // it is killed
	for {
		view, err := table.Scan()
		if err != nil {
			return err
		}
		table.ReapAdopted(view)
		time.Sleep(50 * time.Millisecond)
	}
}

// The daemon is killed with every shape of process in its runs, and started again: all of them are gone
// within 10 s, and nobody else is hit.
func TestEveryShapeAfterACrash(t *testing.T) {
	w := newWorld(t)
	runs := howMany(25, 1000)
	decoys := w.decoys(200)
	mark := marker()
	must(t, w.store.Close())
	w.store = nil
	cradle := exec.Command(os.Args[0], w.home, w.instance)
	cradle.Env = append(os.Environ(), cradleMode+"=1", crowdMode+"="+strconv.Itoa(runs), markerVariable+"="+mark)
	cradle.Stderr = os.Stderr
	out, err := cradle.StdoutPipe()
	must(t, err)
	must(t, cradle.Start())
	defer func() { _ = cradle.Process.Kill(); _ = cradle.Wait() }()
	var daemon int
	_, err = fmt.Fscan(out, &daemon)
	must(t, err)
	await(t, 3*time.Minute, "the runs", func() bool { return exists(w.file("started")) && len(marked(t, mark)) == runs*shapesOfARun })
	id, err := process.Lookup(daemon)
	must(t, err)
	killed, err := os.FindProcess(daemon)
	must(t, err)
	must(t, killed.Kill())
	await(t, limit, "the death of the daemon", func() bool { return !id.Alive() })
	if n := len(marked(t, mark)); n != runs*shapesOfARun {
		t.Fatalf("%d processes outlived their daemon", n)
	}

	began := time.Now()
	w.open()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.k.Run(ctx) }()
	want := 0
	if cgroups == "" {
		want = runs // the fourth shape escapes; scv doctor counts such runs
	}
	await(t, time.Minute, "the end of every run", func() bool { return len(marked(t, mark)) <= want })
	took := time.Since(began)
	await(t, time.Minute, "the end of every record", func() bool {
		s, err := w.k.List(true)
		must(t, err)
		return len(s.Entries) == 0 && s.Reaped == uint64(runs)
	})
	t.Logf("%d runs: every process gone after %v, every record after %v", runs, took, time.Since(began))
	if took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	cancel()
	must(t, <-ended)
	if n := len(marked(t, decoys)); n != 200 {
		t.Errorf("%d of 200 decoys were hit", 200-n)
	}
	for _, pid := range marked(t, mark) { // what escaped
		p, err := os.FindProcess(pid)
		must(t, err)
		must(t, p.Kill())
	}
}
