package main

import (
	"context"
	"errors"
	"time"

	"scv/wire"
	"scv/wire/bus"
)

const controlClients = 4

// measureControl compares the daemon's answers to status with the same bytes sent by an endpoint that
// looks at nothing, through the same transport and bus.
func measureControl(ctx context.Context, b *bench) (rows []row, err error) {
	d, err := b.startDaemon(ctx, "control")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	ours, err := connectAll(ctx, d.socket, controlClients)
	if err != nil {
		return nil, err
	}
	defer closeAll(ours)
	status, err := ours[0].Control(ctx, wire.StatusCommand{})
	if err != nil {
		return nil, err
	}
	echo, err := b.startEcho(status)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, echo.stop()) }()
	bare, err := connectAll(ctx, b.path("echo.sock"), controlClients)
	if err != nil {
		return nil, err
	}
	defer closeAll(bare)
	m, err := inTurns(ctx, 5, asking(ours), asking(bare))
	if err != nil {
		return nil, err
	}
	return []row{
		atLeast("control requests per second, 4 clients, against a fixed answer through the same transport", m[0], m[1], m[0]/m[1], 0.7, "/s"),
	}, nil
}

// startEcho runs a server that answers every request with one status.
func (b *bench) startEcho(status wire.DaemonStatus) (*program, error) {
	answer, err := wire.Encode(status)
	if err != nil {
		return nil, err
	}
	p, err := b.start("echo", b.path("echo.sock"))
	if err != nil {
		return nil, err
	}
	if _, err = p.stdin.Write(append(answer, '\n')); err == nil {
		err = p.ready()
	}
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

func asking(clients []*bus.Client) sample {
	return func(ctx context.Context) (float64, error) {
		return rate(ctx, len(clients), 700*time.Millisecond, func(ctx context.Context, worker int) error {
			_, err := clients[worker].Control(ctx, wire.StatusCommand{})
			return err
		})
	}
}
