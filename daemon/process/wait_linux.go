package process

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// childInfo is what the kernel's siginfo tells of a child, on 64-bit machines.
type childInfo struct {
	Signo, Errno, Code int32
	_                  int32
	PID                int32
	UID                uint32
	Status             int32
}

const exitedByItself = 1 // CLD_EXITED

// awaitExit waits for the end of a child and leaves it a zombie.
func awaitExit(id ID) (Exit, error) {
	for {
		var raw unix.Siginfo
		err := unix.Waitid(unix.P_PID, id.PID, &raw, unix.WEXITED|unix.WNOWAIT, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return Exit{Code: -1}, err
		}
		info := (*childInfo)(unsafe.Pointer(&raw))
		if info.Code == exitedByItself {
			return Exit{Code: int(info.Status)}, nil
		}
		return Exit{Code: -1, Signal: unix.SignalName(unix.Signal(info.Status))}, nil
	}
}

// reap reaps a child of ours that has ended.
func reap(proc *os.Process) error {
	_, err := proc.Wait()
	return err
}

// reapOne reaps a child that has ended and that an earlier program of this process has spawned.
func reapOne(pid int) error {
	for {
		_, err := unix.Wait4(pid, nil, 0, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
