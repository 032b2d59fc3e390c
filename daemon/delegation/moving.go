package delegation

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"scv/daemon/process"
	"scv/store"
)

// This file is for a daemon that becomes another program in place. The runs of single turns go on meanwhile:
// what they print goes to files, and how they end is kept by the kernel until their owner asks, which the next
// program is: it has the same pid.

// ErrMoving is why the contexts of the daemon's rooms end then.
var ErrMoving = errors.New("the daemon goes over to another release")

// toldLimit is how long an agent may take to read its task to the end before the daemon leaves it.
const toldLimit = 2 * time.Second

// Surviving is ctx without an end that only means that the daemon is moving: what has begun to exist must come
// so far that the next program can go on with it.
func Surviving(ctx context.Context) (context.Context, context.CancelFunc) {
	surviving, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if cause := context.Cause(ctx); !errors.Is(cause, ErrMoving) {
			cancel(cause)
		}
	})
	return surviving, func() {
		stop()
		cancel(nil)
	}
}

// Leave reports whether a run can be left to the next program: it has its whole task, or has ended.
func (r *Run) Leave() bool {
	if r.stays {
		return false
	}
	timer := time.NewTimer(toldLimit)
	defer timer.Stop()
	select {
	case <-r.told:
		return true
	case <-timer.C:
		return false
	}
}

// LetGo ends what this program does with the runs that go on. It waits for those that are just ending: how a
// run ended is on record, or still with the kernel.
func (k *Keeper) LetGo() {
	k.moving.Store(true)
	k.ending.Lock()
	defer k.ending.Unlock()
	k.leftToOthers = true
}

// TakeUp makes the runs ours again that an earlier program of this process has left at work. It comes before
// the first pass. What cannot be taken up is stopped like an orphan.
func (k *Keeper) TakeUp() error {
	rows, err := k.rows()
	if err != nil {
		return fmt.Errorf("cannot look for runs that are still at work: %w", err)
	}
	for _, row := range rows {
		d := row.Delegation
		if !process.ID(d.Owner).Is(k.o.Self) || d.State != store.RunLive {
			continue
		}
		if err := k.takeUp(row.Handle, d); err != nil {
			k.o.Log.Warn("cannot go on with a run", "handle", row.Handle, "err", err)
			continue
		}
		k.o.Log.Info("going on with a run", "handle", row.Handle, "agent", d.Agent, "pid", d.Leader.PID)
	}
	return nil
}

func (k *Keeper) takeUp(handle string, d store.Delegation) error {
	printed, err := reopenOutput(k.folder(handle))
	if err != nil {
		return err
	}
	child, err := k.o.Procs.Adopt(process.ID(d.Leader), process.Cgroup(d.Cgroup))
	if err != nil {
		printed.close()
		return err
	}
	r := newRun(k, handle)
	r.began, r.printed, r.condense = d.Started, printed, k.o.Condenser(d.Agent)
	close(r.recorded)
	k.adopt(r)
	r.goOn(child)
	return nil
}

// goOn is follow for a run that has its task.
func (r *Run) goOn(child *process.Child) {
	r.child = child
	close(r.spawned)
	close(r.told)
	go r.wait()
	go r.watchOutput()
}

// reopenOutput opens what a run prints, to bound and shrink it too.
func reopenOutput(folder string) (*output, error) {
	o := &output{folder: folder}
	var err error
	if o.out, err = openLeft(filepath.Join(folder, "out"), unix.O_RDWR); err == nil {
		if o.errs, err = openLeft(filepath.Join(folder, "err"), unix.O_RDWR); err != nil {
			o.out.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open output of a run: %w", err)
	}
	return o, nil
}

// Own is a run that this process owns, nil if it does not.
func (k *Keeper) Own(handle string) *Run {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.own[handle]
}

// Lasted is how long ago the run was started.
func (r *Run) Lasted() time.Duration { return r.keeper.o.Clock.Now().Since(r.began) }

// openLeft opens a file that an agent could reach since it was made. A pipe would be waited for without
// end, a link would lead to something else.
func openLeft(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, how|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &os.PathError{Op: "open", Path: path, Err: errNotRegular}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
