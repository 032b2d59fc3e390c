package delegation

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"scv/daemon/process"
	"scv/internal/clock"
)

// Run is one run that this process owns.
type Run struct {
	Handle string

	keeper   *Keeper
	began    clock.Stamp    // set before it is spawned, as is printed
	printed  *output        // nil when it could not be made
	condense condenser      // nil: the beginning of what it prints is its answer
	stays    bool           // a live agent: its standard streams are its session's
	spoken   *os.File       // what a live agent says, nil for others
	spawned  chan struct{}  // closed when it is settled whether there is a leader
	child    *process.Child // the leader; nil when none was spawned. Set before spawned is closed
	recorded chan struct{}  // closed when the run's leader is on record: now it may be told its task
	exited   chan struct{}  // closed when the leader has exited
	told     chan struct{}  // closed when nobody writes to the leader any more
	done     chan struct{}  // closed when nothing of the run is left, or what is left cannot be stopped

	bounding sync.Mutex // of its output

	mu      sync.Mutex
	over    bool   // the leader has exited: what stops it now is no reason for how it ended
	stopped string // why we stopped it, "" if it ended by itself
	left    bool   // something of it could not be stopped
	exit    process.Exit
	err     error
}

// Result is how a run ended.
type Result struct {
	Exit      process.Exit
	Stopped   string // why it was stopped, as the end of a sentence; "" if it ended by itself
	Output    []byte // at most the limit asked for, or what the agent's Condense keeps
	Truncated bool
	Errors    []byte // the end of what it printed to stderr, at most KeptErrors bytes
}

func newRun(k *Keeper, handle string) *Run {
	return &Run{
		Handle: handle, keeper: k, spawned: make(chan struct{}), recorded: make(chan struct{}),
		exited: make(chan struct{}), told: make(chan struct{}), done: make(chan struct{}),
	}
}

// follow begins to wait for the leader, and to tell it its task once it is recorded.
func (r *Run) follow(child *process.Child, task string) {
	r.child = child
	close(r.spawned)
	if r.stays {
		close(r.told)
	} else {
		go r.tell(task)
	}
	go r.wait()
	if !r.stays { // what a live agent says to its errors is cut by the passes: each cut may lose a word
		go r.watchOutput()
	}
}

// never settles that there will be no leader.
func (r *Run) never() {
	close(r.spawned)
	close(r.done)
}

// wait ends when the leader has exited and what it left behind is stopped.
func (r *Run) wait() {
	defer close(r.done)
	defer r.hangUp()
	exit, err := r.child.Exited()
	r.keeper.ending.RLock()
	defer r.keeper.ending.RUnlock()
	if r.keeper.leftToOthers {
		return
	}
	r.mu.Lock()
	r.over, r.exit, r.err = true, exit, err
	why := r.stopped
	r.mu.Unlock()
	close(r.exited)
	<-r.told // its standard input is closed, should a grandchild hold the other side
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	survivors, err := r.keeper.stopTree(ctx, r.Handle, r.child.ID())
	r.makeRoom() // before anything is committed
	if err != nil || len(survivors) > 0 {
		r.keeper.o.Log.Error("a run's leader ended and left processes that cannot be stopped",
			"handle", r.Handle, "survivors", survivors, "err", err)
		r.mu.Lock()
		r.left = true
		r.mu.Unlock()
		r.reap()
		return
	}
	r.keeper.step("gone")
	err = r.keeper.ended(ctx, r.Handle, exit, why)
	if err != nil {
		r.keeper.o.Log.Error("cannot record how a run ended", "handle", r.Handle, "err", err)
	}
	if err == nil || !r.keeper.moving.Load() { // else the next program learns it from the kernel
		r.reap()
	}
	r.logEnd(exit, why)
	r.keeper.step("ended")
}

// reap comes last: until then the kernel keeps how the leader ended.
func (r *Run) reap() {
	if _, err := r.child.Wait(); err != nil {
		r.keeper.o.Log.Error("cannot reap a run's leader", "handle", r.Handle, "err", err)
	}
}

// makeRoom gives back what the run took of the disk: its own report could not be stored else.
func (r *Run) makeRoom() {
	condense := r.condense
	if r.Stopped() != "" {
		condense = nil // nobody asks for the answer
	}
	if err := r.printed.shrink(condense); err != nil {
		r.keeper.o.Log.Error("cannot shrink what a run printed", "handle", r.Handle, "err", err)
	}
}

func (r *Run) logEnd(exit process.Exit, why string) {
	took := r.keeper.o.Clock.Now().Since(r.began).Round(time.Millisecond)
	if why != "" {
		r.keeper.o.Log.Info("run ended", "handle", r.Handle, "stopped", why, "took", took.String())
		return
	}
	r.keeper.o.Log.Info("run ended", "handle", r.Handle, "exit_code", exit.Code, "took", took.String())
}

// size is how much a run that is at work has printed to out or err.
func (r *Run) size() int64 {
	select {
	case <-r.spawned:
	default:
		return 0
	}
	if r.child == nil {
		return 0
	}
	return r.printed.largest()
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

// Done is closed when the run has ended and nothing of it is left, or what is left cannot be stopped.
func (r *Run) Done() <-chan struct{} { return r.done }

// Stopped is why the run was stopped, "" if it runs or ended by itself.
func (r *Run) Stopped() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopped
}

// gone reports whether nothing of the run is left.
func (r *Run) gone() bool {
	select {
	case <-r.done:
	default:
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.left
}

// Stop stops the run's whole tree and returns when it is gone; survivors are an error. why ends the
// sentence "The agent was stopped …". A run that is just being started is not started any more, or
// stopped as soon as it is there.
func (r *Run) Stop(ctx context.Context, why string) error {
	r.mu.Lock()
	if r.stopped == "" && !r.over {
		r.stopped = why
	}
	r.mu.Unlock()
	if err := r.await(ctx, r.spawned); err != nil || r.child == nil {
		return err
	}
	survivors, err := r.keeper.stopTree(ctx, r.Handle, r.child.ID())
	if err != nil {
		return fmt.Errorf("cannot stop run %q: %w", r.Handle, err)
	}
	if len(survivors) > 0 {
		return &SurvivorsError{Handle: r.Handle, Survivors: survivors}
	}
	return r.await(ctx, r.done)
}

// Printed is what the leader has printed since an offset, at most the last limit bytes of that, and the offset
// to ask from next. It is nothing to rely on: once the leader has exited, Result is.
func (r *Run) Printed(from, limit int64) (text []byte, next int64) {
	return r.printed.since(from, limit)
}

func (r *Run) await(ctx context.Context, event <-chan struct{}) error {
	select {
	case <-event:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("cannot stop run %q: %w", r.Handle, ctx.Err())
	}
}

// Result waits for the end of the run and reads how it ended and what its answer is made of: at most limit
// bytes of what it printed, or what the agent's Condense keeps.
func (r *Run) Result(limit int64) (Result, error) {
	<-r.done
	r.mu.Lock()
	result, err := Result{Exit: r.exit, Stopped: r.stopped}, r.err
	r.mu.Unlock()
	if err != nil {
		return Result{}, fmt.Errorf("cannot learn how run %q ended: %w", r.Handle, err)
	}
	result.Output, result.Truncated, err = r.printed.answer(r.condense, limit)
	result.Errors = r.printed.tail()
	return result, err
}
