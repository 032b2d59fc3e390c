package delegation

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

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
	pids, err := find(marker)
	must(t, err)
	return pids
}

func find(marker string) (pids []int, err error) {
	entries, err := os.ReadDir("/proc")
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
	return pids, err
}

// await is until for a look that costs much.
func await(t testing.TB, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(200 * time.Millisecond) {
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

// crowdMode makes the test binary one that starts a crowd of processes. Its value says which.
const crowdMode = "SCV_DELEGATION_TEST_CROWD"

// A crowd is an SCV process with runs, what init is to such a process, or one whose processes are no runs of ours.
const (
	crowdRuns   = "runs"
	crowdCradle = "cradle"
	crowdDecoys = "decoys"
)

// crowd is what a crowd is told, by its environment: its arguments would bear the marker.
type crowd struct {
	Home, Instance, Marker string
	Size                   int
}

const crowdVariable = "SCV_DELEGATION_TEST_CROWD_DATA"

// crowded is the exit code of a crowd that went wrong; none ends by itself.
func crowded(kind string) int {
	time.AfterFunc(10*time.Minute, func() { os.Exit(1) }) // nothing is left for long when a test fails
	var c crowd
	err := json.Unmarshal([]byte(os.Getenv(crowdVariable)), &c)
	if err == nil {
		go c.disperse()
		err = map[string]func(crowd) error{crowdRuns: crowd.runs, crowdCradle: crowd.cradle, crowdDecoys: crowd.decoys}[kind](c)
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// disperse ends all of the crowd when it is told to end, as it is when the tests are killed.
func (c crowd) disperse() {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	<-term
	for pids, err := find(c.Marker); err == nil && len(pids) > 0; pids, err = find(c.Marker) {
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL) // the marker is in our own environment, not in our arguments
		}
	}
	syscall.Exit(1)
}

// start starts a crowd; everything of it is stopped at the end of the test.
func (c crowd) start(t *testing.T, kind string) process.ID {
	t.Helper()
	data, err := json.Marshal(c)
	must(t, err)
	child, err := table.Spawn(process.Spec{
		Path: executable(t), Env: append(os.Environ(), crowdMode+"="+kind, crowdVariable+"="+string(data)), Stderr: os.Stderr,
	})
	must(t, err)
	t.Cleanup(func() {
		left, err := table.Stop(context.Background(), process.Run{Leader: child.ID(), Group: child.ID().PID})
		_, werr := child.Wait()
		if err := errors.Join(err, werr); err != nil || len(left) > 0 {
			t.Errorf("a crowd is left: %v, %v", left, err)
		}
	})
	return child.ID()
}

func executable(t *testing.T) string {
	path, err := os.Executable()
	must(t, err)
	return path
}

// runs is an SCV process that is to be killed.
func (c crowd) runs() error {
	ctx := context.Background()
	s, err := store.Open(ctx, store.Options{Path: storeIn(c.Home), Clock: clock.System{}, Instance: c.Instance})
	if err != nil {
		return err
	}
	self, err := process.Self()
	if err != nil {
		return err
	}
	k := New(options(c.Home, c.Instance, s, clock.System{}, self))
	failed := make(chan error, c.Size)
	each(c.Size, func(i int) {
		_, err := k.Start(ctx, numbered(i), placed(k), shellRun(k, numbered(i), c.Home, shapes, c.Marker))
		failed <- err
	})
	for range c.Size {
		if err := <-failed; err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(c.Home, "started"), nil, 0o600); err != nil {
		return err
	}
	select {}
}

// cradle takes over the orphans of the SCV that it starts, and reaps them. So the next SCV is not among
// their ancestors, just as on a machine where init takes them over.
func (c crowd) cradle() error {
	path, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.Setenv(crowdMode, crowdRuns); err != nil { // a second value in an environment would not count
		return err
	}
	daemon, err := table.Spawn(process.Spec{Path: path, Env: os.Environ(), Stderr: os.Stderr})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(c.Home, "daemon"), []byte(strconv.Itoa(daemon.ID().PID)), 0o600); err != nil {
		return err
	}
	if _, err := daemon.Wait(); err != nil {
		return err
	}
	for {
		if _, err := syscall.Wait4(-1, nil, 0, nil); errors.Is(err, syscall.ECHILD) {
			select {} // until the test ends us
		}
	}
}

// decoys are processes of every shape with another instance's tag, in a cgroup with another instance's name.
func (c crowd) decoys() error {
	for i := range c.Size / shapesOfARun {
		_, err := table.Spawn(process.Spec{
			Path: "/bin/sh", Args: []string{"-c", shapes, c.Marker},
			Env:    []string{"PATH=" + os.Getenv("PATH"), "SCV_PARENT=x" + c.Instance + "/chat-1/" + numbered(i)},
			Cgroup: cgroups.For("x"+c.Instance, numbered(i)),
		})
		if err != nil {
			return err
		}
	}
	select {}
}

// The daemon is killed with every shape of process in its runs, and started again: all of them are gone
// within 10 s, and nobody else is hit.
func TestEveryShapeAfterACrash(t *testing.T) {
	const bystanders = 200
	w := newWorld(t)
	must(t, w.store.Close())
	w.store = nil
	c := crowd{Home: w.home, Instance: w.instance, Marker: marker(), Size: howMany(25, 1000)}
	d := c
	d.Marker, d.Size = marker(), bystanders
	t.Cleanup(func() { clearCgroups(t, "x"+w.instance) }) // after they were stopped: cleanups run backwards
	d.start(t, crowdDecoys)
	await(t, limit, "the decoys", func() bool { return len(marked(t, d.Marker)) == bystanders })
	c.start(t, crowdCradle)
	await(t, 5*time.Minute, "the runs", func() bool {
		return exists(w.file("started")) && len(marked(t, c.Marker)) == c.Size*shapesOfARun
	})
	daemon := pidIn(t, w.file("daemon"))
	must(t, syscall.Kill(daemon.PID, syscall.SIGKILL))
	await(t, limit, "the death of the daemon", func() bool { return !daemon.Alive() })
	if n := len(marked(t, c.Marker)); n != c.Size*shapesOfARun {
		t.Fatalf("only %d processes outlived their daemon", n)
	}

	began := time.Now()
	w.open()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.k.Run(ctx) }()
	escape := 0
	if cgroups == "" {
		escape = c.Size // the fourth shape of each; scv doctor counts such runs
	}
	await(t, time.Minute, "the end of every process", func() bool { return len(marked(t, c.Marker)) <= escape })
	took := time.Since(began)
	await(t, time.Minute, "the end of every record", func() bool {
		s, err := w.k.List(true)
		must(t, err)
		return len(s.Entries) == 0 && s.Reaped == uint64(c.Size)
	})
	t.Logf("%d runs: every process gone after %v, every record after %v; %d escaped", c.Size, took, time.Since(began), len(marked(t, c.Marker)))
	// The figure is 10 s on a machine with nothing else to do; beside other tests only a hang can be told.
	if took > time.Duration(howMany(40, 10))*time.Second {
		t.Errorf("it took %v", took)
	}
	cancel()
	must(t, <-ended)
	if n := len(marked(t, d.Marker)); n != bystanders {
		t.Errorf("%d of %d decoys were hit", bystanders-n, bystanders)
	}
}

// clearCgroups removes those of an instance that nobody serves.
func clearCgroups(t *testing.T, instance string) {
	t.Helper()
	handles, err := cgroups.Handles(instance)
	must(t, err)
	for _, handle := range handles {
		until(t, "an empty cgroup", func() bool { return syscall.Rmdir(cgroups.For(instance, handle).Path) == nil })
	}
}
