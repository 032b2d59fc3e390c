package delegation

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"scv/daemon/process"
)

// Run is one run that this process owns.
type Run struct {
	Handle string

	keeper   *Keeper
	child    *process.Child
	recorded chan struct{} // closed when the run's leader is on record: now it may be told its task
	exited   chan struct{} // closed when the leader has exited
	told     chan struct{} // closed when nobody writes to the leader any more
	done     chan struct{} // closed when nothing of the run is left

	mu      sync.Mutex
	stopped string // why we stopped it, "" if it ended by itself
	exit    process.Exit
	err     error
}

// Result is how a run ended.
type Result struct {
	Exit      process.Exit
	Stopped   string // why it was stopped, "" if it ended by itself
	Output    []byte // at most the limit asked for
	Truncated bool
}

// newRun also begins to wait for the leader, and to tell it task once it is recorded.
func newRun(k *Keeper, handle string, child *process.Child, task string) *Run {
	r := &Run{
		Handle: handle, keeper: k, child: child, recorded: make(chan struct{}),
		exited: make(chan struct{}), told: make(chan struct{}), done: make(chan struct{}),
	}
	go r.tell(task)
	go r.wait()
	return r
}

// wait ends when the leader has exited and what it left behind is stopped.
func (r *Run) wait() {
	defer close(r.done)
	exit, err := r.child.Wait()
	close(r.exited)
	r.child.Stdin().Close() // ends tell, should a grandchild hold the other side
	<-r.told
	r.mu.Lock()
	r.exit, r.err = exit, err
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if survivors, err := r.keeper.stopTree(ctx, r.Handle, r.child.ID()); err != nil || len(survivors) > 0 {
		r.keeper.o.Log.Error("a run's leader ended and left processes that cannot be stopped",
			"handle", r.Handle, "survivors", survivors, "err", err)
		return
	}
	if err := r.keeper.ended(ctx, r.Handle, exit, r.why()); err != nil {
		r.keeper.o.Log.Error("cannot record how a run ended", "handle", r.Handle, "err", err)
	}
}

func (r *Run) why() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopped
}

// tell writes the task to the leader's standard input and closes it. A leader that never reads ends
// the write by exiting.
func (r *Run) tell(task string) {
	defer close(r.told)
	defer r.child.Stdin().Close()
	select {
	case <-r.recorded:
	case <-r.exited:
		return
	}
	if _, err := r.child.Stdin().Write([]byte(task)); err != nil {
		r.keeper.o.Log.Debug("the agent did not read its whole task", "handle", r.Handle, "err", err)
	}
}

// Done is closed when nothing of the run is left.
func (r *Run) Done() <-chan struct{} { return r.done }

// Stop stops the run's whole tree and returns when it is gone; survivors are an error.
func (r *Run) Stop(ctx context.Context, why string) error {
	r.mu.Lock()
	if r.stopped == "" {
		r.stopped = why
	}
	r.mu.Unlock()
	survivors, err := r.keeper.stopTree(ctx, r.Handle, r.child.ID())
	if err != nil {
		return fmt.Errorf("cannot stop run %q: %w", r.Handle, err)
	}
	if len(survivors) > 0 {
		return &SurvivorsError{Handle: r.Handle, Survivors: survivors}
	}
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("cannot stop run %q: %w", r.Handle, ctx.Err())
	}
}

// Result reads how a done run ended and at most limit bytes of what it printed.
func (r *Run) Result(limit int64) (Result, error) {
	<-r.done
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return Result{}, fmt.Errorf("cannot learn how run %q ended: %w", r.Handle, r.err)
	}
	out, more, err := readCapped(filepath.Join(r.keeper.folder(r.Handle), "out"), limit)
	if err != nil {
		return Result{}, fmt.Errorf("cannot read output of run %q: %w", r.Handle, err)
	}
	return Result{Exit: r.exit, Stopped: r.stopped, Output: out, Truncated: more}, nil
}

// SurvivorsError names the processes that KILL did not end.
type SurvivorsError struct {
	Handle    string
	Survivors []process.ID
}

func (e *SurvivorsError) Error() string {
	return fmt.Sprintf("run %q: %d processes survived KILL: %s", e.Handle, len(e.Survivors), pids(e.Survivors))
}

func pids(ids []process.ID) string {
	text := ""
	for i, id := range ids {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprint(id.PID)
	}
	return text
}
