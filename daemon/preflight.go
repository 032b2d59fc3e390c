package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"scv/daemon/lock"
	"scv/daemon/process"
	"scv/daemon/restart"
	"scv/internal/clock"
	"scv/internal/layout"
	"scv/store"
	"scv/wire"
	"scv/wire/bus"
)

// preflightWait bounds the one question of a preflight.
const preflightWait = 10 * time.Second

// Preflight shows that this release can serve: it migrates the store of a home that is a copy, opens a socket
// there, and asks itself. It starts no account and no agent, signals nobody and sends nothing. It returns the
// schema that the store has now.
func Preflight(ctx context.Context, o Options) (schema uint64, err error) {
	o.clock, o.Start = clock.System{}, &restart.Start{Role: lock.Daemon}
	d := newDaemon(o, process.NewTable())
	defer func() { d.rooms.stop(d.log) }()
	for _, step := range []step{
		{"home", d.openHome},
		{"embedded server", d.beginTransport},
		{"configuration", d.loadConfig},
		{"store", func(ctx context.Context) error { return d.openReady(ctx, d.home.join(layout.Store)) }},
		{"socket", d.openQuietDoor},
		{"status", func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, preflightWait)
			defer cancel()
			return d.askSelf(ctx)
		}},
	} {
		if err := step.run(ctx); err != nil {
			return 0, fmt.Errorf("cannot start (%s): %w", step.name, err)
		}
		if step.name == "store" {
			d.rooms.opened("store", d.store.Close)
		}
	}
	err = d.store.View(func(v *store.View) error {
		schema = uint64(v.Meta().Schema)
		return nil
	})
	return schema, err
}

// openQuietDoor answers status and nothing else.
func (d *Daemon) openQuietDoor(ctx context.Context) error {
	return d.openDoor(ctx, peerOnly, d.safeEndpoints("this is a trial of a release"))
}

// askSelf is one request over the socket, as any client's.
func (d *Daemon) askSelf(ctx context.Context) error {
	client, err := bus.Connect(ctx, bus.SocketDialer(d.transport.SocketPath()))
	if err != nil {
		return err
	}
	defer client.Close()
	status, err := client.Control(ctx, wire.StatusCommand{})
	if err == nil && status.Version != d.o.Version {
		err = errors.New("another release answers")
	}
	return err
}
