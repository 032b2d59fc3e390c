package loopback

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// World is what every fake platform has, whatever it plays: word of each change, a clock of its own, and complaints of
// its clients. Its zero value is ready, and its methods may be called from any goroutine, whatever lock that holds.
type World struct {
	offset atomic.Int64 // of its clock, in nanoseconds

	mu         sync.Mutex
	changed    chan struct{} // closed and forgotten when anything changes; nil where nobody waits
	complaints []string
}

// Changed wakes whoever waits.
func (w *World) Changed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}

// Next is closed at the next change.
func (w *World) Next() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.changed == nil {
		w.changed = make(chan struct{})
	}
	return w.changed
}

// Await waits until cond holds. It looks again whenever something has happened on the platform.
func (w *World) Await(ctx context.Context, cond func() bool) error {
	for {
		changed := w.Next()
		if cond() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waited in vain: %w", ctx.Err())
		}
	}
}

// Skew sets the platform's clock that much ahead of this host's, or behind it.
func (w *World) Skew(by time.Duration) {
	w.offset.Store(int64(by))
	w.Changed()
}

// Now is the platform's time.
func (w *World) Now() time.Time { return time.Now().Add(time.Duration(w.offset.Load())) }

// Complain notes that a client breaks the protocol.
func (w *World) Complain(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.complaints = append(w.complaints, fmt.Sprintf(format, args...))
}

// Complaints are the breaches of the protocol that clients made.
func (w *World) Complaints() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.complaints)
}
