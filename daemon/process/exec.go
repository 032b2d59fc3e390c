package process

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"scv/internal/failpoint"
)

// ErrSignalled says that the process was told to end just before it would have become another program.
var ErrSignalled = errors.New("a signal asked for the end")

// Signals are the signals that ask for an orderly end, as the hand listens for them.
type Signals interface {
	// Pause stops listening: what comes now ends the process. It returns once every signal that came before
	// is counted.
	Pause()
	// Asked reports whether one has come.
	Asked() bool
	// Resume listens again.
	Resume()
}

// settle is how long a signal's handler that has begun may need.
const settle = time.Millisecond

// Exec makes this process the program at path, with the same pid, start time and children. Of what is open
// only keep stays, under the same numbers. It returns only when it fails, and then all is as before;
// ErrSignalled when a signal asked for the end meanwhile. Without signals nobody listens for any.
//
// A program of Go takes signals as soon as it runs, and before it has a handler they end it: for some
// milliseconds after this call a signal is the end, and the guard of a restart must know it from a crash.
func Exec(path string, args, env []string, keep []*os.File, signals Signals) (err error) {
	if err := failpoint.Hit(failpoint.RestartExec); err != nil {
		return fmt.Errorf("cannot go over to %q: %w", path, err)
	}
	var limit syscall.Rlimit
	limited := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil
	// Nobody may fork while descriptors are open to heirs.
	syscall.ForkLock.Lock()
	defer syscall.ForkLock.Unlock()
	defer inheritable(keep)()
	if signals != nil {
		signals.Pause()
		defer signals.Resume()
		defer defaultEndings()()
		time.Sleep(settle)
		if signals.Asked() {
			return ErrSignalled
		}
	}
	err = syscall.Exec(path, args, env)
	if limited { // which syscall.Exec sets back to what we were started with
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
	}
	return fmt.Errorf("cannot go over to %q: %w", path, err)
}

// inheritable lets files stay open in the next program; what it returns undoes that.
func inheritable(files []*os.File) (undo func()) {
	for _, f := range files {
		keepOpen(f, true)
	}
	return func() {
		for _, f := range files {
			keepOpen(f, false)
		}
	}
}

// keepOpen does not ask for f.Fd(), which would make a listener block.
func keepOpen(f *os.File, open bool) {
	raw, err := f.SyscallConn()
	if err != nil {
		return // it is closed
	}
	_ = raw.Control(func(fd uintptr) {
		flags := unix.FD_CLOEXEC
		if open {
			flags = 0
		}
		_, _ = unix.FcntlInt(fd, unix.F_SETFD, flags) // an open descriptor has these flags
	})
}

// Number is the number under which a file stays open over Exec.
func Number(f *os.File) int {
	number := -1
	if raw, err := f.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { number = int(fd) })
	}
	return number
}

// Inherit takes a file that the program before us left open under this number, and closes it to heirs
// at once. Nil: there is none.
func Inherit(number int, name string) *os.File {
	if number < 3 {
		return nil
	}
	flags, err := unix.FcntlInt(uintptr(number), unix.F_GETFD, 0)
	if err != nil || flags&unix.FD_CLOEXEC != 0 { // ours from before the runtime opened anything has no such mark
		return nil
	}
	if _, err := unix.FcntlInt(uintptr(number), unix.F_SETFD, unix.FD_CLOEXEC); err != nil {
		return nil
	}
	return os.NewFile(uintptr(number), name)
}
