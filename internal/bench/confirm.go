package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"scv/wire"
	"scv/wire/bus"
)

// measureConfirm compares the time from the owner's word to the end of the script's `scv confirm` with that of
// a durable message in the same chat alone, which the word is too.
func measureConfirm(ctx context.Context, b *bench) (rows []row, err error) {
	d, err := b.startDaemon(ctx, "confirm")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	c, err := bus.Connect(ctx, bus.SocketDialer(d.socket))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	said := 0
	say := func(ctx context.Context, text string) error {
		said++
		_, err := c.ChatSend(ctx, wire.ChatSend{Account: "default", ID: fmt.Sprintf("bench-%d", said), Text: text})
		return err
	}
	answered := func(ctx context.Context) (float64, error) {
		cmd := exec.CommandContext(ctx, b.path("scv"), "--home", d.home, "confirm", "Shall the bench go on?")
		cmd.Env = []string{"HOME=" + b.base}
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		if err := awaitQuestion(ctx, c); err != nil {
			return 0, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
		}
		began := time.Now()
		err := say(ctx, "yes")
		err = errors.Join(err, cmd.Wait())
		return milliseconds(time.Since(began)), err
	}
	bare := func(ctx context.Context) (float64, error) {
		began := time.Now()
		err := say(ctx, "hello")
		return milliseconds(time.Since(began)), err
	}
	m, err := inTurns(ctx, 20, answered, bare)
	if err != nil {
		return nil, err
	}
	return []row{
		atMost("from the owner's word to the end of `scv confirm` (50 ms is the aim), against a durable message alone", m[0], m[1], m[0]/m[1], 5, "ms"),
	}, nil
}

// awaitQuestion waits until a question is open, which the chat then shows.
func awaitQuestion(ctx context.Context, c *bus.Client) error {
	for {
		list, err := c.ConfirmList(ctx, wire.ConfirmListRequest{})
		if err != nil {
			return err
		}
		for _, q := range list.Confirms {
			if q.OpenedUnixMillis != nil {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}
