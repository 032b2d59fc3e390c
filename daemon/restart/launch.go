package restart

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"scv/daemon/lock"
	"scv/daemon/process"
)

// Launch starts a program outside of our own fate, where a session of its own is not enough for that: under a
// service manager that ends whatever belongs to the service. Which process it is shows in the guard's lock. The
// program has the environment of the service manager. Nil: a session is enough.
type Launch func(ctx context.Context, spec process.Spec) error

// guardReady is how long a guard may need until it watches.
const guardReady = 5 * time.Second

// notForHeirs are variables by which a process is known to its service manager.
var notForHeirs = []string{"NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"}

// StartGuard starts the kept program as the guard of the hand-over, and returns once it watches, which shows
// in its lock. What it is given of an environment, and where it writes errors, is what the old release will
// run with if the guard has to start it.
func StartGuard(ctx context.Context, f Folder, procs *process.Table, launch Launch, w World) error {
	h, under, err := f.Read()
	if err != nil || !under {
		return errors.Join(err, errors.New("cannot start the guard: nothing is under way"))
	}
	spec := process.Spec{
		Path: f.join(fileOld), Args: []string{"guard", f.home}, Dir: h.Dir, Stderr: w.Stderr,
		Env: slices.DeleteFunc(Without(w.Environ), func(v string) bool {
			name, _, _ := strings.Cut(v, "=")
			return slices.Contains(notForHeirs, name)
		}),
	}
	alive, over, err := f.startGuard(ctx, procs, launch, spec)
	if err != nil {
		return fmt.Errorf("cannot start the guard: %w", err)
	}
	defer over()
	for deadline := time.Now().Add(guardReady); ; {
		switch {
		case f.guarded():
			return nil
		case !alive():
			return errors.New("cannot start the guard: it has ended at once; " + f.join(fileEvents) + " may say why")
		case time.Now().After(deadline):
			return errors.New("cannot start the guard: it does not watch")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(guardPoll):
		}
	}
}

const guardPoll = 2 * time.Millisecond

// startGuard gives a way to tell whether the guard lives, as far as that is known before it has its lock, and
// what is to be called once it has.
func (f Folder) startGuard(ctx context.Context, procs *process.Table, launch Launch, spec process.Spec) (alive func() bool, over func(), err error) {
	if launch != nil {
		over, err = f.lend(spec.Env, func() error { return launch(ctx, spec) })
		return func() bool { return true }, over, err
	}
	child, err := procs.Spawn(spec)
	if err != nil {
		return nil, nil, err
	}
	go child.Wait() // it is reaped, and its end shows in its lock
	return child.ID().Alive, func() {}, nil
}

// guarded reports whether a guard lives.
func (f Folder) guarded() bool {
	file, err := os.OpenFile(f.join(fileGuard), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return false
	}
	defer file.Close()
	return errors.Is(unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// GuardOf is the process of a living guard that an earlier program of this process has started: our child,
// and none that ran away from a run.
func (f Folder) GuardOf() (process.ID, bool) {
	h, err := lock.Read(f.join(fileGuard))
	if err != nil || h.PID == 0 || !f.guarded() {
		return process.ID{}, false
	}
	id, err := process.Lookup(h.PID)
	return id, err == nil && id.Start == h.Start
}
