package reconcile

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"scv/daemon/channel"
	"scv/internal/clock"
	"scv/wire"
)

// The numbers of docs/rules.md §3.
const (
	DefaultInterval    = 2 * time.Second  // between passes
	DefaultStopGrace   = 5 * time.Second  // from asking to stop until it is reported
	DefaultMinDelay    = 1 * time.Second  // first back-off
	DefaultMaxDelay    = 60 * time.Second // longest back-off, before jitter
	DefaultStableAfter = 60 * time.Second // a run this long takes the back-off to its first step
)

// Options is what the loop needs; zero numbers take the defaults above.
type Options struct {
	// Desired reads the store, the credentials and the folders. An error leaves everything as it is.
	Desired func() ([]Desired, error)
	// Make builds the adapter of one attempt. It must not block; a Permanent error is final.
	Make func(Desired, channel.Host) (channel.Adapter, error)
	// Receive takes what an account received; it returns when the batch is durable or known.
	Receive func(ctx context.Context, account string, batch []channel.Message) error
	// ReceiveTo and Cursor are those of channel.Host, for one account.
	ReceiveTo func(ctx context.Context, account string, batch []channel.Message, cursor string) error
	Cursor    func(account string) (string, error)
	// Changed is called after a state changed, under no lock. It must not block or call back.
	Changed func()

	Clock clock.Clock
	Log   *slog.Logger

	Interval, StopGrace, MinDelay, MaxDelay, StableAfter time.Duration
}

// Loop runs the accounts. Make it with New, give it a goroutine with Run.
type Loop struct {
	Options
	wake  chan struct{}
	ended chan struct{} // closed when Run has returned

	mu       sync.Mutex
	accounts map[string]*account
	restarts map[string]uint64   // of forgotten accounts: a counter never goes backwards
	held     map[string]struct{} // being logged out
	waiting  []*waiter           // for a pass that is to begin
	settling []*waiter           // for what a pass began
	fresh    bool                // the next pass starts failed accounts again
	unread   bool                // the latest pass could not read what is desired
	moves    []move              // to be told when mu is free
	telling  bool                // somebody is telling moves
}

// account is one component and what runs of it.
type account struct {
	component
	id    string
	want  Desired   // as last read
	tried Desired   // what the present failed state is about
	run   *instance // nil when nothing runs
}

// move is a change of state that is still to be logged.
type move struct {
	id       string
	from, to wire.ComponentState
	cause    error
}

// New makes a loop that does nothing yet.
func New(o Options) *Loop {
	for _, n := range []struct {
		value *time.Duration
		or    time.Duration
	}{
		{&o.Interval, DefaultInterval},
		{&o.StopGrace, DefaultStopGrace},
		{&o.MinDelay, DefaultMinDelay},
		{&o.MaxDelay, DefaultMaxDelay},
		{&o.StableAfter, DefaultStableAfter},
	} {
		if *n.value <= 0 {
			*n.value = n.or
		}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	return &Loop{
		Options:  o,
		wake:     make(chan struct{}, 1),
		ended:    make(chan struct{}),
		accounts: make(map[string]*account),
		restarts: make(map[string]uint64),
		held:     make(map[string]struct{}),
	}
}

// Run does passes until ctx ends, then stops and joins every account. It waits the grace at most: an
// error names the accounts that did not stop by then.
func (l *Loop) Run(ctx context.Context) error {
	defer close(l.ended)
	tick := time.NewTicker(l.Interval)
	defer tick.Stop()
	for ctx.Err() == nil {
		l.pass(ctx)
		select {
		case <-ctx.Done():
		case <-tick.C:
		case <-l.wake:
		}
	}
	return l.shutDown()
}

// Wake asks for a pass soon. It never blocks.
func (l *Loop) Wake() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// pass reads, compares and applies. Nothing in it waits for a platform.
func (l *Loop) pass(ctx context.Context) {
	l.mu.Lock()
	covered, fresh := l.waiting, l.fresh
	l.waiting, l.fresh = nil, false
	l.mu.Unlock()

	desired, err := l.Desired()
	if err != nil {
		l.skip(covered, fmt.Errorf("cannot read the accounts: %w", err))
		return
	}

	l.mu.Lock()
	defer l.unlock()
	l.unread = false
	for _, s := range diff(desired, l.observe(), fresh) {
		l.apply(ctx, s)
	}
	l.settle(covered)
}

// skip ends a pass that could not read: what runs goes on.
func (l *Loop) skip(covered []*waiter, err error) {
	l.mu.Lock()
	first := !l.unread
	l.unread = true
	l.dismissWaiters(covered, err)
	l.mu.Unlock()
	if first { // not again every two seconds
		l.Log.Error("accounts stay as they are until they can be read", "error", err)
	}
}

func (l *Loop) observe() map[string]observed {
	now := make(map[string]observed, len(l.accounts))
	for id, a := range l.accounts {
		o := observed{Phase: idle}
		switch {
		case a.run != nil && a.run.asked:
			o = observed{Phase: stopping, Desired: a.run.desired}
		case a.run != nil:
			o = observed{Phase: running, Desired: a.run.desired}
		case a.state == wire.Failed:
			o = observed{Phase: failed, Desired: a.tried}
		}
		now[id] = o
	}
	for id := range l.held { // also what a pass forgot before it was held, or nobody would ever let it go
		o := now[id]
		o.Held = true
		now[id] = o
	}
	return now
}

// apply does one step; mu is held.
func (l *Loop) apply(ctx context.Context, s step) {
	a := l.accounts[s.ID]
	if s.Desired == nil {
		delete(l.held, s.ID)
	} else {
		if a == nil {
			a = &account{id: s.ID, component: component{state: wire.Stopped, restarts: l.restarts[s.ID]}}
			l.accounts[s.ID] = a
		}
		a.want = *s.Desired
	}
	switch s.Do {
	case doStart:
		l.begin(ctx, a)
	case doStop:
		l.stop(a)
	case doShow:
		l.show(a)
	case doForget:
		if a != nil {
			l.restarts[s.ID] = a.restarts
			delete(l.accounts, s.ID)
		}
	case doKeep:
	}
}

// show sets the state of an account that shall not run.
func (l *Loop) show(a *account) {
	a.tried = a.want
	l.on(a, nil, func() {
		if a.want.Enabled {
			a.broken(sentence(a.want.Broken))
		} else {
			a.turnedOff()
		}
	})
}

// shutDown stops everything and waits for it, the grace at most.
func (l *Loop) shutDown() error {
	l.mu.Lock()
	var runs []*instance
	for _, a := range l.accounts {
		if a.run != nil {
			l.stop(a)
			runs = append(runs, a.run)
		}
	}
	l.dismissWaiters(l.waiting, errEnded)
	l.unlock()

	var left []string
	for _, in := range runs {
		if !in.wait(context.Background()) {
			left = append(left, in.account.id)
		}
	}
	if len(left) == 0 {
		return nil
	}
	slices.Sort(left)
	return fmt.Errorf("cannot stop %s within %v", strings.Join(left, ", "), l.StopGrace)
}

// on lets an event happen to an account and notes the change of state; mu is held.
func (l *Loop) on(a *account, cause error, event func()) {
	from := a.state
	event()
	if a.state != from {
		l.moves = append(l.moves, move{a.id, from, a.state, cause})
	}
}

// unlock frees mu, and only then tells of the changes made under it: one teller at a time, so that they
// are told in the order in which they happened.
func (l *Loop) unlock() {
	for !l.telling && len(l.moves) > 0 {
		moves := l.moves
		l.moves, l.telling = nil, true
		l.mu.Unlock()
		l.tell(moves)
		l.mu.Lock()
		l.telling = false
	}
	l.mu.Unlock()
}

func (l *Loop) tell(moves []move) {
	for _, m := range moves {
		attrs := []any{"account", m.id, "from", string(m.from), "to", string(m.to)}
		if m.cause != nil {
			attrs = append(attrs, "cause", m.cause)
		}
		l.Log.Info("account", attrs...)
	}
	l.Changed()
}
