package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// maxOutput bounds what Output takes from a child; the rest is dropped.
const maxOutput = 1 << 20

// outputGrace is for a pipe that somebody else holds when the child has ended. It is long, because a machine
// that starves may not let us read before it is over, and what was printed would be lost.
const outputGrace = 10 * time.Second

// errLimit is the end of a child that took too long.
var errLimit = errors.New("it took too long and was ended")

// Output runs a child of ours to its end, or to the limit, and returns what it printed. It is for short
// work that this process must not do itself, because it could be killed by it.
func (t *Table) Output(ctx context.Context, spec Spec, limit time.Duration) ([]byte, Exit, error) {
	return t.output(ctx, spec, limit, false)
}

// Words is Output with what the child complains about among it, for a person to read.
func (t *Table) Words(ctx context.Context, spec Spec, limit time.Duration) ([]byte, Exit, error) {
	return t.output(ctx, spec, limit, true)
}

func (t *Table) output(ctx context.Context, spec Spec, limit time.Duration, complaints bool) ([]byte, Exit, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, Exit{}, fmt.Errorf("cannot start %q: %w", spec.Path, err)
	}
	defer r.Close()
	spec.Stdout = w
	if complaints {
		spec.Stderr = w
	}
	child, err := t.Spawn(spec)
	w.Close()
	if err != nil {
		return nil, Exit{}, err
	}
	read := make(chan []byte, 1)
	go func() {
		out, _ := io.ReadAll(io.LimitReader(r, maxOutput)) // a short read shows in what it says
		_, _ = io.Copy(io.Discard, r)
		read <- out
	}()
	exit, err := t.within(ctx, child, limit)
	_ = r.SetReadDeadline(time.Now().Add(outputGrace))
	return <-read, exit, err
}

// ending is how a child ended.
type ending struct {
	exit Exit
	err  error
}

// within waits for a child and ends it when it takes too long. One that is stuck in the kernel is left
// behind.
func (t *Table) within(ctx context.Context, child *Child, limit time.Duration) (Exit, error) {
	ended := make(chan ending, 1)
	go func() {
		exit, err := child.Wait()
		ended <- ending{exit, err}
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	cause := errLimit
	select {
	case e := <-ended:
		return e.exit, e.err
	case <-timer.C:
	case <-ctx.Done():
		cause = ctx.Err()
	}
	run := Run{Leader: child.ID(), Group: child.ID().PID}
	_, err := t.Stop(context.WithoutCancel(ctx), run) // bounded by itself
	select {
	case e := <-ended:
		return e.exit, errors.Join(cause, e.err)
	case <-time.After(killGrace):
		return Exit{Code: -1}, errors.Join(cause, err)
	}
}
