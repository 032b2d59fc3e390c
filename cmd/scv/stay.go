package main

import (
	"context"
	"errors"
	"time"

	"scv/wire"
	"scv/wire/bus"
)

// How long to wait before connecting again. A planned restart takes about 10 ms, a crash under a
// service manager about a second.
const (
	firstRetry = 250 * time.Millisecond
	lastRetry  = 2 * time.Second
	// steady is how long a connection must have lived for the next wait to be short again.
	steady = 5 * time.Second
)

// errAway says that the daemon went away in the middle of a work that stay will take up again.
var errAway = errors.New("the daemon went away")

// stay does work that outlives the daemon's process: with a connection until the work returns nil or a
// final error, and with a new one whenever the old one breaks. The first connection must succeed.
// Work is called again from its beginning and must know by itself how far it came.
func (a *app) stay(ctx context.Context, work func(context.Context, *bus.Client) error) error {
	return a.goOn(ctx, false, work)
}

// goOn is stay for one who may have met the daemon already: then it is waited for from the beginning.
func (a *app) goOn(ctx context.Context, met bool, work func(context.Context, *bus.Client) error) error {
	wait, away := firstRetry, false
	for {
		client, err := a.connect(ctx)
		if err == nil {
			if away {
				a.note("the daemon is back")
			}
			met, away = true, false
			began := time.Now()
			err = work(ctx, client)
			client.Close()
			if time.Since(began) > steady {
				wait = firstRetry
			}
		}
		if !met && !errors.Is(err, bus.ErrStarting) || final(err) || ctx.Err() != nil {
			return err
		}
		if !away {
			a.note("%v; waiting for it to come back", errAway)
			away = true
		}
		if !pause(ctx, wait) {
			return ctx.Err()
		}
		wait = min(2*wait, lastRetry)
	}
}

// final reports whether the work is over: nil, or an error that no new connection would mend.
func final(err error) bool {
	var refused *wire.Error
	var told *failure
	return err == nil || errors.As(err, &refused) || errors.As(err, &told) ||
		errors.Is(err, bus.ErrTooOld) || errors.Is(err, bus.ErrDenied)
}

// pause waits and reports whether ctx let it.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// linger is a context that outlives parent by d: time for the last words after an interrupt.
func linger(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(parent))
	stop := context.AfterFunc(parent, func() { time.AfterFunc(d, cancel) })
	return ctx, func() { stop(); cancel() }
}
