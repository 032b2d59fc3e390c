package service

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// unwatched is how often a manager without a watchdog hears that a start takes its time.
const unwatched = 10 * time.Second

// Pulse tells the service manager that this daemon is alive, as long as it is. While it is busy with something
// that has an end (a start, a hand-over) the limit of that counts; once it serves, each sign of life is preceded
// by a proof. A ticker alone would go on beating in a daemon that hangs. The nil Pulse tells nobody.
type Pulse struct {
	tell  func(words ...string) error
	log   *slog.Logger
	every time.Duration
	watch bool // the manager counts our signs of life
	again chan struct{}

	mu    sync.Mutex
	now   *state
	until time.Time // busy: no sign of life after that
}

// state is what the daemon is at.
type state struct {
	prove func(context.Context) error // nil: it is busy
}

// NewPulse makes the pulse of a process; nil where nobody wants to hear of it.
func NewPulse(n *Notify, log *slog.Logger) *Pulse {
	if n == nil {
		return nil
	}
	p := &Pulse{tell: n.Tell, log: log, every: unwatched, again: make(chan struct{}, 1), now: &state{}}
	if n.watchdog > 0 {
		p.watch, p.every = true, n.watchdog/2
	}
	return p
}

// Busy says that for limit at most the daemon is at something that cannot be asked.
func (p *Pulse) Busy(limit time.Duration) {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.now, p.until = &state{}, time.Now().Add(limit)
	p.mu.Unlock()
	select {
	case p.again <- struct{}{}: // at once: the last sign of life may be old
	default:
	}
}

// Serving says that requests are answered. From now on prove must show it before each sign of life; it must end
// with its context.
func (p *Pulse) Serving(status string, prove func(context.Context) error) {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.now = &state{prove: prove}
	p.mu.Unlock()
	p.say(saysReady, saysStatus+status, saysAlive)
}

// Stopping says that the end has begun.
func (p *Pulse) Stopping() {
	if p != nil {
		p.say(saysStopping)
	}
}

func (p *Pulse) say(words ...string) {
	if err := p.tell(words...); err != nil {
		p.log.Warn("the service manager does not hear us", "err", err)
	}
}

// Start beats until what it returns is called, which waits for the last beat.
func (p *Pulse) Start() (stop func()) {
	if p == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { p.run(ctx) })
	return func() {
		cancel()
		done.Wait()
	}
}

func (p *Pulse) run(ctx context.Context) {
	tick := time.NewTicker(p.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.again:
		case <-tick.C:
		}
		p.beat(ctx)
	}
}

// beat gives a sign of life if there is reason to.
func (p *Pulse) beat(ctx context.Context) {
	at, left := p.at()
	switch {
	case at.prove == nil && left > 0:
		p.say(saysAlive, fmt.Sprintf("%s%d", saysMoreTime, (2*p.every).Microseconds()))
	case at.prove == nil:
		p.log.Error("what this daemon is busy with takes too long, so the service manager hears nothing of it")
	case p.watch:
		p.proveAndSay(ctx, at)
	}
}

// at is what the daemon is at, and for how long it may be busy with it.
func (p *Pulse) at() (*state, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now, time.Until(p.until)
}

func (p *Pulse) proveAndSay(ctx context.Context, at *state) {
	asking, cancel := context.WithTimeout(ctx, p.every)
	defer cancel()
	err := at.prove(asking)
	if now, _ := p.at(); now != at || ctx.Err() != nil {
		return // it was asked while it went on to something else
	}
	if err != nil {
		p.log.Error("this daemon does not answer itself; the service manager will restart it if that goes on", "err", err)
		return
	}
	p.say(saysAlive)
}
