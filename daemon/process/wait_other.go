//go:build !linux

package process

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// awaitExit waits for the end of a child, and reaps it: it cannot be left a zombie here, and so how it ended
// can be lost over an exec.
func awaitExit(id ID) (Exit, error) {
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(id.PID, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return Exit{Code: -1}, err
		case status.Signaled():
			return Exit{Code: -1, Signal: unix.SignalName(status.Signal())}, nil
		}
		return Exit{Code: status.ExitStatus()}, nil
	}
}

// reap has nothing left to do but to forget it.
func reap(proc *os.Process) error { return proc.Release() }

// reapOne has nothing left to do.
func reapOne(int) error { return nil }
