package process

import (
	"bytes"
	"errors"
	"os"
	"os/signal"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"scv/internal/failpoint"
)

// wholeGroup makes pidfd_send_signal signal the group that the pidfd's process gave its number to
// (PIDFD_SIGNAL_PROCESS_GROUP, Linux 6.9).
const wholeGroup = 1 << 2

// signalProcess signals exactly this process: the pidfd is opened first and the identity checked
// after, so the pid cannot have passed to another in between.
func signalProcess(id ID, sig unix.Signal) error {
	if err := errors.Join(checkTarget(id.PID), failpoint.Hit(failpoint.Signal)); err != nil {
		return err
	}
	return withPidfd(id, func(fd int) error {
		if fd < 0 {
			return unix.Kill(id.PID, sig)
		}
		return unix.PidfdSendSignal(fd, sig, nil, 0)
	})
}

// signalGroup signals the whole group as long as anchor, this very process, is in it.
func signalGroup(anchor ID, group int, sig unix.Signal) error {
	if err := errors.Join(checkTarget(anchor.PID), checkGroup(group), failpoint.Hit(failpoint.Signal)); err != nil {
		return err
	}
	return withPidfd(anchor, func(fd int) error {
		if p, _, err := readStat(anchor.PID); err != nil || p.PGID != group || group == 0 {
			return os.ErrProcessDone // it has left the group
		}
		if fd >= 0 && anchor.PID == group {
			err := unix.PidfdSendSignal(fd, sig, nil, wholeGroup)
			if !errors.Is(err, unix.EINVAL) {
				return err
			}
		}
		return unix.Kill(-group, sig)
	})
}

// withPidfd hands act a pidfd of this very process, or -1 on a kernel without (before 5.3), and closes it.
func withPidfd(id ID, act func(fd int) error) error {
	fd, err := opened(func() (int, error) { return unix.PidfdOpen(id.PID, 0) })
	switch {
	case errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM): // EPERM: an old seccomp filter
		fd = -1
	case err != nil:
		return goneOr(err)
	default:
		defer closed(fd)
	}
	p, _, err := readStat(id.PID)
	if fd >= 0 {
		p.Serial = serialOf(fd)
	}
	if err != nil || !p.Is(id) {
		return os.ErrProcessDone
	}
	return act(fd)
}

// withOpenMask runs start on a thread that blocks no signal: a child inherits the mask of the thread that
// forks it, and ours is whatever we were started with.
func withOpenMask(start func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var none, before unix.Sigset_t
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &none, &before); err != nil {
		return start() // only a wrong argument can fail
	}
	defer func() { _ = unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil) }()
	return start()
}

// ignoredSignals asks the kernel. The runtime does not know that SIGTSTP, SIGTTIN, SIGTTOU or SIGCONT was
// ignored by who started us; what it knows counts only where the kernel cannot be asked.
func ignoredSignals() (ignored []os.Signal) {
	mask, asked := ignoredMask()
	for sig := unix.Signal(1); sig <= lastSignal; sig++ {
		if asked && mask&(1<<(sig-1)) != 0 || !asked && signal.Ignored(sig) {
			ignored = append(ignored, sig)
		}
	}
	return ignored
}

// ignoredMask is SigIgn of /proc/self/status, signal 1 its lowest bit.
func ignoredMask() (mask uint64, ok bool) {
	status, err := readInto("/proc/self/status", make([]byte, 4<<10))
	if err != nil {
		return 0, false
	}
	_, rest, _ := bytes.Cut(status, []byte("\nSigIgn:"))
	line, _, _ := bytes.Cut(rest, []byte{'\n'})
	mask, err = strconv.ParseUint(string(bytes.TrimSpace(line)), 16, 64)
	return mask, err == nil
}
