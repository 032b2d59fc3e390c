package restart

import (
	"context"
	"sync"
	"time"

	"scv/internal/clock"
)

// askLimit is how long one question to the new release may take.
const askLimit = 2 * time.Second

// probing asks the new release for its status again and again, apart from the guard's own looks: a daemon
// that does not answer must not keep the guard from seeing that it has ended.
type probing struct {
	guard *Guard
	end   context.CancelFunc
	done  chan struct{}

	mu    sync.Mutex
	asked int // grows with forget: an answer to an earlier question is not of this release
	last  sight
}

// sight is what was seen of the new release.
type sight struct {
	ok     bool
	answer Answer
	first  clock.Stamp // it has answered ever since
	at     clock.Stamp // it answered last
}

func newProbing(g *Guard) *probing {
	ctx, cancel := context.WithCancel(context.Background())
	p := &probing{guard: g, end: cancel, done: make(chan struct{})}
	go p.run(ctx)
	return p
}

func (p *probing) run(ctx context.Context) {
	defer close(p.done)
	pause := min(p.guard.pace.Beat, p.guard.pace.Soak/4)
	for {
		asked := p.question()
		asking, cancel := context.WithTimeout(ctx, askLimit)
		answer, err := p.guard.Ask(asking, p.guard.Home)
		cancel()
		if err == nil { // else its age tells
			p.note(asked, answer)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

func (p *probing) question() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

func (p *probing) note(asked int, a Answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if asked != p.asked {
		return
	}
	now := clock.System{}.Now()
	if !p.last.ok || p.last.answer.PID != a.PID || p.last.answer.Version != a.Version || now.Since(p.last.at) > p.guard.pace.Soak+askLimit {
		p.last.first = now
	}
	p.last.ok, p.last.answer, p.last.at = true, a, now
}

func (p *probing) seen() sight {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// forget begins anew: what has answered so far was not the release that is to be judged, or it has ended.
func (p *probing) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	p.last = sight{}
}

func (p *probing) stop() {
	p.end()
	<-p.done
}
