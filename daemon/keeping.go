package daemon

import (
	"context"
	"errors"
	"time"

	"scv/daemon/process"
	"scv/daemon/restart"
	"scv/store"
)

// This file is what the daemon has to do with the service manager that keeps it running.

const (
	startLimit  = 10 * time.Minute // of a start, with all that it may have to migrate and to look through
	departLimit = 2 * time.Minute  // of closing all rooms and copying the store
)

// answers shows that this daemon does its work: a request of our own is answered, over the socket as anybody's,
// and the store's writer comes to a turn. That the disk refuses is no hang.
func (d *Daemon) answers(ctx context.Context) error {
	if err := d.keepAsking(ctx); err != nil {
		return err
	}
	turn := make(chan struct{})
	go func() {
		defer close(turn)
		_ = d.store.Intend(ctx, func(*store.Intent) error { return nil })
	}()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		return errors.New("the store's writer does not come to a turn")
	}
}

// askPause is before the next try, where one was not answered: a crowd at the door is no hang either.
const askPause = 250 * time.Millisecond

// keepAsking asks until there is an answer.
func (d *Daemon) keepAsking(ctx context.Context) error {
	for {
		err := d.askSelf(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(askPause):
		}
	}
}

// launch is how the guard of a restart is started where this daemon runs as a unit, else nil.
func (d *Daemon) launch() restart.Launch {
	if d.outside == nil {
		return nil
	}
	return func(ctx context.Context, spec process.Spec) error {
		return d.outside.Launch(ctx, "scv-guard-"+d.home.Instance, spec)
	}
}

// noWayOutside is why a guard could not be started outside our own fate, "" where it can.
func (d *Daemon) noWayOutside(ctx context.Context) string {
	if d.outside == nil {
		return ""
	}
	err := d.outside.Way(ctx)
	if err == nil {
		return ""
	}
	d.log.Warn("no guard could be started", "err", err)
	return "this daemon runs as a unit of systemd, and nothing can be started outside of it that would watch over the restart: " + err.Error()
}
