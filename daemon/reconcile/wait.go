package reconcile

import (
	"context"
	"errors"
	"fmt"
)

var errEnded = errors.New("the daemon is shutting down")

// waiter is a caller that waits until a pass has been applied.
type waiter struct {
	done  chan error // holds one answer, so that a caller who went away blocks nobody
	stops []*instance
}

// Sync returns when a pass that began after the call has been applied: what had to stop is joined, its
// successor begun. It waits no longer than the grace for an adapter that does not stop: Health says so.
// It fails when the accounts cannot be read, when ctx ends, or when the loop does.
func (l *Loop) Sync(ctx context.Context) error { return l.sync(ctx, false) }

// Reload is Sync that also starts failed accounts afresh.
func (l *Loop) Reload(ctx context.Context) error { return l.sync(ctx, true) }

func (l *Loop) sync(ctx context.Context, fresh bool) error {
	w := &waiter{done: make(chan error, 1)}
	l.mu.Lock()
	l.waiting = append(l.waiting, w)
	l.fresh = l.fresh || fresh
	l.mu.Unlock()
	l.Wake()
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-l.ended:
		return errEnded
	}
}

// Quiesce is for a log-out: it stops the account, joins it, and keeps it stopped, whatever the settings
// say, until a pass finds that it is no longer desired. When it fails, the adapter may still be at work,
// so nothing of the account may be deleted; the account stays held.
func (l *Loop) Quiesce(ctx context.Context, id string) error {
	l.mu.Lock()
	l.held[id] = struct{}{}
	var in *instance
	if a := l.accounts[id]; a != nil && a.run != nil {
		in = a.run
		l.stop(a)
	}
	l.unlock()
	l.Wake() // a held id that is desired no more is let go
	if in == nil || in.wait(ctx) {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cannot stop %q: %w", id, err)
	}
	return fmt.Errorf("cannot stop %q within %v: try again, or restart the daemon", id, l.StopGrace)
}

// settle answers those for whom everything has happened; mu is held. covered are the callers that
// waited for the pass now ending.
func (l *Loop) settle(covered []*waiter) {
	var pending []*instance
	for _, a := range l.accounts {
		if a.run != nil && a.run.asked && !a.run.over() {
			pending = append(pending, a.run)
		}
	}
	for _, w := range covered {
		w.stops = pending
	}
	rest := l.settling[:0:0]
	for _, w := range append(l.settling, covered...) {
		if settled(w.stops) {
			w.done <- nil
		} else {
			rest = append(rest, w)
		}
	}
	l.settling = rest
}

func settled(stops []*instance) bool {
	for _, in := range stops {
		if !in.over() {
			return false
		}
	}
	return true
}

// dismissWaiters answers everyone who waits with an error; mu is held.
func (l *Loop) dismissWaiters(covered []*waiter, err error) {
	for _, w := range append(l.settling, covered...) {
		w.done <- err
	}
	l.settling = nil
}
