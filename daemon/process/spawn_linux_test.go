package process

import (
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// The child shows what it was started with. It is cat because a Go program sets its own handlers first.
func TestChildStartsWithDefaultSignals(t *testing.T) {
	cat, err := exec.LookPath("cat")
	if err != nil {
		t.Skip("no cat")
	}
	signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGTERM, unix.SIGPIPE)
	defer func() { // signal.Reset would leave them ignored
		restore := make(chan os.Signal, 1)
		signal.Notify(restore, unix.SIGHUP, unix.SIGINT, unix.SIGTERM, unix.SIGPIPE)
		signal.Stop(restore)
	}()
	defer blockHere(t)()
	out, text := outFile(t)
	var all sync.WaitGroup
	for range 8 { // at once: one spawn must not put back what another still needs away
		all.Go(func() {
			c, err := table.Spawn(Spec{Path: cat, Args: []string{"/proc/self/status"}, Stdout: out})
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := c.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	c, err := table.Spawn(Spec{Path: cat, Args: []string{"/proc/self/status"}, Stdout: out})
	if err != nil {
		t.Fatal(err)
	}
	wait(t, c)
	all.Wait()
	lines := strings.Split(text(), "\n")
	const none = "\t0000000000000000"
	for _, name := range []string{"SigIgn:", "SigBlk:"} {
		if !slices.Contains(lines, name+none) {
			t.Errorf("%s not empty in:\n%s", name, text())
		}
		for _, line := range lines {
			if strings.HasPrefix(line, name) && line != name+none {
				t.Errorf("inherited: %s", line)
			}
		}
	}
	for _, sig := range []os.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGTERM, unix.SIGPIPE} {
		if !signal.Ignored(sig) {
			t.Errorf("we no longer ignore %v", sig)
		}
	}
}

// blockHere blocks SIGTERM and SIGUSR1 on this goroutine's thread, as a careless parent of the daemon
// would, and returns the way back.
func blockHere(t *testing.T) func() {
	t.Helper()
	runtime.LockOSThread()
	var before, set unix.Sigset_t
	set.Val[0] = 1<<(unix.SIGTERM-1) | 1<<(unix.SIGUSR1-1)
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &set, &before); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil); err != nil {
			t.Error(err)
		}
		runtime.UnlockOSThread()
	}
}
