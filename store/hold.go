package store

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errHeld is why a held write gave up.
var errHeld = errors.New("nothing is changed until the new release has proven itself; ask again in a moment")

// hold makes writes wait.
type hold struct {
	open  chan struct{} // closed when they may go on
	limit time.Duration
}

// Hold makes every write that comes from now on wait until it is let go, for limit at most, and then fail as
// unavailable: a release that may be taken back must acknowledge nothing. Reads go on. Letting go twice is as
// once.
func (s *Store) Hold(limit time.Duration) (letGo func()) {
	h := &hold{open: make(chan struct{}), limit: limit}
	s.held.Store(h)
	return sync.OnceFunc(func() {
		s.held.CompareAndSwap(h, nil)
		close(h.open)
	})
}

// wait ends when the write may go on.
func (h *hold) wait(ctx context.Context, closing <-chan struct{}) error {
	if h == nil {
		return nil
	}
	timer := time.NewTimer(h.limit)
	defer timer.Stop()
	select {
	case <-h.open:
		return nil
	case <-timer.C:
		return unavailable("cannot write", errHeld)
	case <-ctx.Done():
		return ctx.Err()
	case <-closing:
		return errClosed
	}
}
