package daemon

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"
)

// stopBudget bounds a whole stop: a manager gives up on us after 10 s, a person sooner.
const stopBudget = 7 * time.Second

// rooms remembers how to undo what was started. It is used by one goroutine.
type rooms struct {
	undo  []undo
	cause error // why the contexts of rooms end, nil for an ordinary stop
}

type undo struct {
	name string
	run  func() error
}

// opened registers how something is closed.
func (r *rooms) opened(name string, undoing func() error) {
	r.undo = append(r.undo, undo{name, undoing})
}

// running starts a room's loop and registers its end: its context is cancelled and it is waited for.
func (r *rooms) running(name string, run func(context.Context) error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	r.opened(name, func() error {
		cancel(r.cause)
		return <-done
	})
}

// before moves the undoing of rooms ahead of all others, in the order in which a stop takes them.
func (r *rooms) before(names ...string) {
	var later, first []undo
	for _, u := range r.undo {
		if slices.Contains(names, u.name) {
			first = append(first, u)
		} else {
			later = append(later, u)
		}
	}
	r.undo = append(later, first...)
}

// stop undoes everything in reverse. A room that takes too long is left behind with a line in the log:
// what it had promised is in the store.
func (r *rooms) stop(log *slog.Logger) {
	deadline := time.NewTimer(stopBudget)
	defer deadline.Stop()
	late := false
	for i := len(r.undo) - 1; i >= 0; i-- {
		if err := r.undo[i].within(deadline.C, &late); err != nil {
			log.Error("stopping is not orderly", "room", r.undo[i].name, "err", err)
		}
	}
	r.undo = nil
}

var errLate = errors.New("it did not stop in time")

func (u undo) within(deadline <-chan time.Time, late *bool) error {
	done := make(chan error, 1)
	go func() { done <- u.run() }()
	if *late {
		deadline = time.After(100 * time.Millisecond) // the rest gets a last, short chance
	}
	select {
	case err := <-done:
		return err
	case <-deadline:
		*late = true
		return errLate
	}
}
