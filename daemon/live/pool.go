// Package live keeps the agents that stay between turns: at most one process for each conversation. A turn
// goes on with the process of the turn before it as long as nothing about it has changed; else it begins a
// new one, in the agent's own memory of the conversation. Each process is a run on record; while it waits
// for the next turn it is idle, and after a while it is closed.
package live

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"scv/daemon/agent"
	"scv/daemon/delegation"
	"scv/internal/clock"
	"scv/store"
)

const (
	lookEvery   = time.Second      // at the agents that wait
	stopTimeout = 10 * time.Second // for one agent to be gone: TERM, 2 s, KILL, proof
)

// Options is what the daemon hands in.
type Options struct {
	Store     *store.Store
	Clock     clock.Clock
	Log       *slog.Logger
	Runs      *delegation.Keeper
	IdleClose time.Duration // an agent that has had no turn for so long is closed
}

// Key names a conversation.
type Key struct{ Account, Conversation string }

// Pool holds the agents.
type Pool struct {
	o     Options
	tasks sync.WaitGroup

	mu        sync.Mutex
	residents map[Key]*resident
	closed    bool // nobody stays any more
}

// resident is one live agent.
type resident struct {
	key    Key
	handle string
	with   settings
	run    *delegation.Run
	gone   chan struct{} // closed when it has left

	// Guarded by the pool.
	session agent.LiveSession // nil while it is being opened
	state   state
	since   clock.Stamp   // it is idle
	jobs    uint32        // as recorded
	woken   chan struct{} // closed when it is idle no more
}

type state int

const (
	working state = iota
	idle
	leaving
)

// New makes the pool. Run must be called for what happens between turns.
func New(o Options) *Pool { return &Pool{o: o, residents: map[Key]*resident{}} }

// Run looks after the agents until ctx ends; then it closes them all. Turns must have ended by then.
func (p *Pool) Run(ctx context.Context) error {
	tick := time.NewTicker(min(lookEvery, max(p.o.IdleClose/4, time.Millisecond)))
	defer tick.Stop()
	for {
		p.look(ctx)
		select {
		case <-ctx.Done():
			p.closeAll()
			p.tasks.Wait()
			return nil
		case <-tick.C:
		}
	}
}

// find is the agent of a conversation that waits, or why there is none to go on with: one that leaves is
// waited for, and one that has ended or was started otherwise is closed.
func (p *Pool) find(ctx context.Context, key Key, with settings) (*resident, error) {
	for {
		p.mu.Lock()
		r := p.residents[key]
		if r == nil {
			p.mu.Unlock()
			return nil, nil
		}
		switch {
		case r.state == working:
			p.mu.Unlock()
			return nil, errBusy
		case r.state == idle && !r.over() && r.with.same(with):
			p.wake(r, working)
			p.mu.Unlock()
			return r, nil
		case r.state == idle:
			p.leave(r, "because its settings have changed")
		}
		p.mu.Unlock()
		select {
		case <-r.gone:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// wake ends an agent's idle time. The lock is held.
func (p *Pool) wake(r *resident, to state) {
	r.state = to
	close(r.woken)
}

// rest begins the idle time of an agent that has ended its turn.
func (p *Pool) rest(ctx context.Context, r *resident) {
	if err := p.o.Runs.Resting(ctx, r.handle); err != nil {
		p.o.Log.Error("cannot record that an agent is idle", "handle", r.handle, "err", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r.state, r.since, r.woken = idle, p.o.Clock.Now(), make(chan struct{})
	if p.closed {
		p.leave(r, whyStopping)
		return
	}
	woken := r.woken
	p.tasks.Go(func() {
		select {
		case <-woken:
		case <-r.session.Done():
			p.died(r, woken)
		case <-r.run.Done():
			p.died(r, woken)
		}
	})
}

// died closes the record of an agent that ended between turns. Nobody is told: all its turns were answered.
func (p *Pool) died(r *resident, woken <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.state != idle || r.woken != woken {
		return
	}
	p.o.Log.Info("a live agent ended between turns", "handle", r.handle)
	p.leave(r, "because it had ended the conversation")
}

// leave closes an idle agent in the background. The lock is held.
func (p *Pool) leave(r *resident, why string) {
	p.wake(r, leaving)
	p.tasks.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		if err := r.run.Dismiss(ctx, why); err != nil {
			p.o.Log.Error("cannot stop a live agent; a later pass does", "handle", r.handle, "err", err)
		}
		p.forget(r)
		if err := p.o.Runs.Reported(ctx, r.handle); err != nil {
			p.o.Log.Error("cannot close a run's record; a later pass does", "handle", r.handle, "err", err)
		}
		close(r.gone)
	})
}

// Forget closes the agent of a conversation, so that the next turn begins a new one, and returns once it is gone.
// No turn of the conversation may be under way.
func (p *Pool) Forget(ctx context.Context, key Key) error {
	p.mu.Lock()
	r := p.residents[key]
	if r == nil {
		p.mu.Unlock()
		return nil
	}
	if r.state == working {
		p.mu.Unlock()
		return errBusy
	}
	if r.state == idle {
		p.leave(r, "because its conversation was begun anew")
	}
	p.mu.Unlock()
	select {
	case <-r.gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *Pool) forget(r *resident) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.residents[r.key] == r {
		delete(p.residents, r.key)
	}
}

// over reports whether the agent can take no more turns.
func (r *resident) over() bool {
	select {
	case <-r.session.Done():
		return true
	case <-r.run.Done():
		return true
	default:
		return false
	}
}

// closeAll closes every agent, at once.
func (p *Pool) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, r := range p.residents {
		if r.state == idle {
			p.leave(r, whyStopping)
		}
	}
}
