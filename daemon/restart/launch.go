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

// Launch starts a program outside of our own fate and gives its process, where a session of its own is not
// enough for that: under a service manager that ends whatever belongs to the service. Nil: a session is.
type Launch func(ctx context.Context, spec process.Spec) (process.ID, error)

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
	id, err := startGuard(ctx, procs, launch, spec)
	if err != nil {
		return fmt.Errorf("cannot start the guard: %w", err)
	}
	for deadline := time.Now().Add(guardReady); ; {
		switch {
		case f.guarded():
			return nil
		case !id.Alive():
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

func startGuard(ctx context.Context, procs *process.Table, launch Launch, spec process.Spec) (process.ID, error) {
	if launch != nil {
		return launch(ctx, spec)
	}
	child, err := procs.Spawn(spec)
	if err != nil {
		return process.ID{}, err
	}
	go child.Wait() // it is reaped, and its end shows in its lock
	return child.ID(), nil
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
