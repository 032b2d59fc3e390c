package process

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// action is the kernel's sigaction on 64-bit machines: handler, flags, restorer, mask. All zero is the
// default. Where there is no restorer, the last word is unused.
type action [4]uintptr

// defaultEndings makes SIGTERM, SIGINT and SIGHUP end the process at once, behind the runtime's back: after
// signal.Stop its own handler is still there, and loses what comes. One that is ignored stays so. What it
// returns puts the handlers back.
func defaultEndings() (undo func()) {
	var before [3]action
	signals := [3]syscall.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP}
	for i, sig := range signals {
		if setAction(sig, nil, &before[i]); before[i][0] != ignore {
			setAction(sig, &action{}, nil)
		}
	}
	return func() {
		for i, sig := range signals {
			setAction(sig, &before[i], nil)
		}
	}
}

const ignore = 1 // SIG_IGN

func setAction(sig syscall.Signal, to, before *action) {
	_, _, _ = syscall.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig),
		uintptr(unsafe.Pointer(to)), uintptr(unsafe.Pointer(before)), unsafe.Sizeof(uint64(0)), 0, 0)
}
