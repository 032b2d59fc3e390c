package main

import (
	"context"
	"log/slog"
	"os"

	"scv/daemon"
	"scv/daemon/restart"
	"scv/internal/layout"
	"scv/wire"
	"scv/wire/bus"
)

// guardCmd is how the daemon has a restart watched: it runs the old release beside the new one.
type guardCmd struct {
	Home literal `arg:""`
}

// Run never writes to stdout or stderr: they belong to the daemon that it may have to become.
func (c *guardCmd) Run(a *app) error {
	home := string(c.Home)
	log, err := restart.In(home).Events()
	if err != nil {
		return err
	}
	defer log.Close()
	g := &restart.Guard{
		Home: home, Environ: os.Environ(), Log: slog.New(slog.NewJSONHandler(log, nil)), Ask: askDaemon,
	}
	err = g.Run(a.ctx)
	g.Log.Info("the guard ends", "err", err)
	return err
}

// askDaemon is how the guard sees the daemon: as anybody does.
func askDaemon(ctx context.Context, home string) (restart.Answer, error) {
	client, err := bus.Connect(ctx, bus.SocketDialer(bus.SocketPath(home, layout.Instance(home))))
	if err != nil {
		return restart.Answer{}, err
	}
	defer client.Close()
	status, err := client.Control(ctx, wire.StatusCommand{})
	answer := restart.Answer{Version: status.Version, PID: int(status.PID)}
	for _, c := range status.Components {
		if c.State == wire.Connected {
			answer.Connected = append(answer.Connected, c.ID)
		}
	}
	return answer, err
}

// preflightCmd is how the daemon tries a release before it goes over to it: on copies, in a home of its own.
type preflightCmd struct {
	Home literal `arg:""`
}

func (c *preflightCmd) Run(a *app) error {
	said := restart.Tried{Version: thisBuild().Version}
	schema, err := daemon.Preflight(a.ctx, daemon.Options{
		Home: string(c.Home), Version: said.Version, Log: slog.New(slog.DiscardHandler), Getenv: a.getenv, Environ: os.Environ(),
	})
	said.Schema = schema
	if err != nil {
		said.Failure = err.Error()
	}
	return a.printJSON(said)
}
