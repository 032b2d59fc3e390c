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
	_ = awaitEnd(id.PID) // where that does not work, the call below waits, and costs a thread
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

// awaitEnd waits for the end of a child by its pidfd, without a thread of its own: a thousand runs would take a
// thousand, and many systems allow a service no more than 4915 processes and threads in all.
func awaitEnd(pid int) error {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return err
	}
	file := os.NewFile(uintptr(fd), "pidfd")
	defer file.Close()
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Read(func(fd uintptr) (ended bool) {
		polled := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(polled, 0)
		if err != nil && !errors.Is(err, unix.EINTR) {
			failed = err
		}
		return n > 0 || failed != nil
	})
	return errors.Join(err, failed)
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
