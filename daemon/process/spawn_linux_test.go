package process

import (
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
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
	found := 0
	for _, line := range strings.Split(text(), "\n") {
		name, mask, _ := strings.Cut(line, ":\t")
		if name != "SigIgn" && name != "SigBlk" {
			continue
		}
		found++
		// 32 and 33 belong to the C library; the kernel lets nobody else set them, and who started us may
		// have left them ignored.
		const libc = 1<<(32-1) | 1<<(33-1)
		if set, err := strconv.ParseUint(mask, 16, 64); err != nil || set&^uint64(libc) != 0 {
			t.Errorf("inherited: %s", line)
		}
	}
	if found != 2*9 {
		t.Errorf("%d masks of 9 children in:\n%s", found, text())
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
