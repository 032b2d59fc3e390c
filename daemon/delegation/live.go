package delegation

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"scv/daemon/agent"
	"scv/internal/clock"
	"scv/store"
)

// This file is what an agent that stays between turns has of its own. It speaks through pipes, which end
// with the daemon: unlike the run of a single turn it does not outlive us.

const (
	lastWords = time.Second // for what an agent wrote before its end to be read
	goodBye   = time.Second // for an agent whose input has ended to go by itself
)

// StartLive is Start for an agent that stays: its standard input and output belong to the caller, who
// speaks first. It is on record by then.
func (k *Keeper) StartLive(ctx context.Context, handle string, about store.Delegation, run agent.Run) (*Run, error) {
	r := newRun(k, handle)
	r.stays = true
	return k.start(ctx, r, about, run)
}

// Streams are the standard input and output of a live agent. Both end with it.
func (r *Run) Streams() (stdin io.Writer, stdout io.Reader) { return r.child.Stdin(), r.spoken }

// stdout is where what the agent prints goes: a file of the run, or a pipe to who speaks with it. done
// closes our copy of the pipe's end.
func (r *Run) stdout() (out *os.File, done func(), err error) {
	if !r.stays {
		return r.printed.out, func() {}, nil
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("cannot make a pipe for %q: %w", r.Handle, err)
	}
	r.spoken = read
	return write, func() { write.Close() }, nil
}

// hangUp lets what an ended agent had written be read, and no more: something that got away may still hold
// the pipe.
func (r *Run) hangUp() {
	if r.spoken != nil {
		time.AfterFunc(lastWords, func() { r.spoken.Close() })
	}
}

// close lets go of what the run printed.
func (r *Run) close() {
	if r.printed != nil {
		r.printed.close()
	}
	if r.spoken != nil {
		r.spoken.Close()
	}
}

// trim keeps the errors of an agent that stays from filling the disk: what it says in a month is no
// reason to stop it. The agent goes on behind what is kept, since it shares our place in the file.
func (r *Run) trim() {
	end := r.printed.tail()
	err := r.printed.errs.Truncate(0)
	if err == nil {
		_, err = r.printed.errs.Seek(0, io.SeekStart)
	}
	if err == nil {
		_, err = r.printed.errs.Write(end)
	}
	if err != nil {
		r.keeper.o.Log.Error("cannot shrink what an agent printed", "handle", r.Handle, "err", err)
	}
}

// Dismiss ends a live agent: the end of its input is all that a well-behaved one needs.
func (r *Run) Dismiss(ctx context.Context, why string) error {
	r.child.Stdin().Close()
	timer := time.NewTimer(goodBye)
	defer timer.Stop()
	select {
	case <-r.done:
		return nil
	case <-timer.C:
	case <-ctx.Done():
	}
	return r.Stop(ctx, why)
}

// Working records that a live agent has begun a turn.
func (k *Keeper) Working(ctx context.Context, handle string, turn uint32, messageID string) error {
	return k.change(ctx, handle, func(d *store.Delegation) {
		d.Turn, d.MessageID, d.IdleSince = turn, messageID, clock.Stamp{}
	})
}

// Resting records that it has ended its turn, and waits for the next.
func (k *Keeper) Resting(ctx context.Context, handle string) error {
	return k.change(ctx, handle, func(d *store.Delegation) { d.IdleSince = k.o.Clock.Now() })
}

// BackgroundJobs records how much a nested SCV says still runs for it.
func (k *Keeper) BackgroundJobs(ctx context.Context, handle string, jobs uint32) error {
	return k.change(ctx, handle, func(d *store.Delegation) { d.BackgroundJobs = jobs })
}

// change rewrites the record of a run, if there is one.
func (k *Keeper) change(ctx context.Context, handle string, change func(*store.Delegation)) error {
	err := k.o.Store.Observe(ctx, func(tx *store.Observation) error {
		d, known := tx.Delegation(handle)
		if !known {
			return nil
		}
		change(&d)
		return tx.PutDelegation(handle, d)
	})
	if err != nil {
		return fmt.Errorf("cannot record what run %q does: %w", handle, err)
	}
	return nil
}
