package process

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

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
