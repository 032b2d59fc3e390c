// Package lock is the right to a home: who holds daemon.lock may write the store, and nobody else. It is a
// flock on a file that is never renamed or removed, so that two holders can never hold two files. It stays
// held when the daemon goes over to another program in place. The daemon, its guard and the room of restarts
// come in.
package lock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"scv/daemon/process"
)

// ErrRunning says that another daemon holds the home.
var ErrRunning = errors.New("another scv is running")

const (
	// leftBehind is how long a lock whose holder is gone may be held: a child that is being started is a copy
	// of the daemon, with its lock, until it runs its own program, also if the daemon is killed meanwhile.
	leftBehind = 5 * time.Second
	// passing is how long a holder that gives way may need: a guard that puts a release back, or a stand-in
	// that stops.
	passing = 30 * time.Second
	poll    = 10 * time.Millisecond
)

// Lock is a lock that is held.
type Lock struct{ file *os.File }

// Take gets the lock for me, or says who has it: at once if that is a daemon that lives. A guard is waited for,
// and a stand-in is told to make room.
func Take(ctx context.Context, path string, me Holder) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open lock %q: %w", path, err)
	}
	if err := acquire(ctx, f); err != nil {
		defer f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w there with pid %s", ErrRunning, read(f).pid())
		}
		return nil, fmt.Errorf("cannot lock %q: %w", path, err)
	}
	l := &Lock{file: f}
	if err := l.Write(me); err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

// acquire waits for the lock as long as its holder is one that lets go.
func acquire(ctx context.Context, f *os.File) error {
	begin := time.Now()
	asked := false
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
		h := read(f)
		if h.Role == StandIn && !asked && h.Alive() {
			asked = true
			if err := process.Terminate(h.id()); err != nil && !errors.Is(err, os.ErrProcessDone) {
				return fmt.Errorf("cannot relieve the stand-in %d: %w", h.PID, err)
			}
		}
		if time.Since(begin) >= h.patience(asked) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(poll):
		}
	}
}

// Try gets the lock if nobody has it; nil if somebody does.
func Try(path string, me Holder) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open lock %q: %w", path, err)
	}
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		f.Close()
		return nil, nil
	case err != nil:
		f.Close()
		return nil, fmt.Errorf("cannot lock %q: %w", path, err)
	}
	l := &Lock{file: f}
	if err := l.Write(me); err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

// Inherited is a lock that an earlier program of this process took.
func Inherited(f *os.File) *Lock { return &Lock{file: f} }

// File is what must stay open for as long as the right is wanted.
func (l *Lock) File() *os.File { return l.file }

// Write says who holds the lock, in one line of a fixed size, so that no reader sees half of it.
func (l *Lock) Write(h Holder) error {
	if _, err := l.file.WriteAt(h.line(), 0); err != nil {
		return fmt.Errorf("cannot write lock %q: %w", l.file.Name(), err)
	}
	if err := l.file.Truncate(lineSize); err != nil {
		return fmt.Errorf("cannot write lock %q: %w", l.file.Name(), err)
	}
	return nil
}

// Stands reports whether what stands in the home is the lock we hold. If somebody removed or replaced
// it, the home may be another daemon's by now, and with it the socket.
func (l *Lock) Stands() error {
	held, err := l.file.Stat()
	if err != nil {
		return fmt.Errorf("cannot look at the lock we hold: %w", err)
	}
	there, err := os.Stat(l.file.Name())
	if err != nil {
		return fmt.Errorf("cannot tell whose home it is: %w", err)
	}
	if !os.SameFile(held, there) {
		return fmt.Errorf("the home may be another daemon's: %q is not the lock that we hold", l.file.Name())
	}
	return nil
}

// Release gives the right back. The file stays.
func (l *Lock) Release() { l.file.Close() }
