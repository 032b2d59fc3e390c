//go:build !linux

package process

import (
	"errors"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"scv/internal/failpoint"
)

// signalProcess signals this process by its pid, just after its identity was checked. Between the two
// the pid could pass to another; without pidfds nothing closes that gap.
func signalProcess(id ID, sig unix.Signal) error {
	if err := errors.Join(checkTarget(id.PID), failpoint.Hit(failpoint.Signal)); err != nil {
		return err
	}
	if p, _, err := readProc(id.PID); err != nil || !p.Is(id) {
		return os.ErrProcessDone
	}
	return unix.Kill(id.PID, sig)
}

// signalGroup signals the whole group if anchor, this very process, is in it.
func signalGroup(anchor ID, group int, sig unix.Signal) error {
	if err := errors.Join(checkTarget(anchor.PID), checkGroup(group), failpoint.Hit(failpoint.Signal)); err != nil {
		return err
	}
	if p, _, err := readProc(anchor.PID); err != nil || !p.Is(anchor) || p.PGID != group || group == 0 {
		return os.ErrProcessDone
	}
	return unix.Kill(-group, sig)
}

// withOpenMask runs start: the runtime here hands a child the mask of the thread, which blocks nothing
// unless we were started so.
func withOpenMask(start func() error) error { return start() }

// ignoredSignals is what the runtime knows of: not SIGTSTP, SIGTTIN, SIGTTOU or SIGCONT that who started
// us had ignored.
func ignoredSignals() (ignored []os.Signal) {
	for sig := unix.Signal(1); sig <= lastSignal; sig++ {
		if signal.Ignored(sig) {
			ignored = append(ignored, sig)
		}
	}
	return ignored
}
