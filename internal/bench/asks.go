package main

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"time"

	"scv/internal/bench/writer"
	"scv/internal/clock"
	"scv/store"
	"scv/wire"
	"scv/wire/bus"
)

const (
	askers     = 32
	askRounds  = 4
	askSpan    = 600 * time.Millisecond
	openAtOnce = 8 // questions that one chat may have open (docs/rules.md)
)

// measureAsks compares durable questions with a bare writer goroutine that puts two records for each:
// the store's part alone, and all of it through the daemon. db.Batch, bbolt's own grouping, is shown too.
func measureAsks(ctx context.Context, b *bench) (rows []row, err error) {
	w, err := writer.Open(b.path("writer.db"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	s, err := openStore(ctx, b.path("asks.db"), clock.System{}, false)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	d, err := b.startDaemon(ctx, "asks")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	clients, err := connectAll(ctx, d.socket, askers)
	if err != nil {
		return nil, err
	}
	defer closeAll(clients)

	var asked atomic.Uint64
	ofStore := func(ctx context.Context, _ int) error {
		return storeQuestion(ctx, s, asked.Add(1), clock.System{}.Now())
	}
	m, err := inTurns(ctx, askRounds,
		byAll(func(context.Context, int) error { return w.Put() }),
		byAll(func(context.Context, int) error { return w.Batch() }),
		byAll(ofStore),
		byAll(askAndWithdraw(clients)),
		func(ctx context.Context) (float64, error) { return rate(ctx, openAtOnce, askSpan, putTwice(w)) })
	if err != nil {
		return nil, err
	}
	bare, batch, kept, whole, places := m[0], m[1], m[2], m[3], m[4]
	return []row{
		atLeast("durable asks per second, 32 callers of the store (question, journal, text on its way), against a writer goroutine with two puts", kept, bare, kept/bare, 0.25, "/s"),
		shown("the same by `db.Batch` with two puts", amount(batch, "/s"), amount(bare, "/s"), times(batch/bare)),
		atLeast("asks through the daemon, 32 clients: each asked, shown in the chat, withdrawn", whole, bare, whole/bare, 0.25, "/s"),
		shown("the same against a writer goroutine with 8 callers, as many as may wait in a chat, that each put twice, one after the other", amount(whole, "/s"), amount(places, "/s"), times(whole/places)),
	}, nil
}

// putTwice makes two commits one after the other, as who asks and withdraws does.
func putTwice(w *writer.Writer) func(context.Context, int) error {
	return func(context.Context, int) error { return errors.Join(w.Put(), w.Put()) }
}

func byAll(do func(context.Context, int) error) sample {
	return func(ctx context.Context) (float64, error) { return rate(ctx, askers, askSpan, do) }
}

// askAndWithdraw asks by the worker's client and withdraws the question, so that there is room for the
// next. No more are open than the daemon admits; who finds no room waits.
func askAndWithdraw(clients []*bus.Client) func(context.Context, int) error {
	room := make(chan struct{}, openAtOnce)
	return func(ctx context.Context, worker int) error {
		select {
		case room <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		defer func() { <-room }()
		client := clients[worker]
		status, err := client.Control(ctx, wire.ConfirmAskCommand{Question: "Shall the bench go on?"})
		if err != nil {
			return err
		}
		_, err = client.ConfirmWithdraw(ctx, status.Confirm.ID)
		return err
	}
}

func openStore(ctx context.Context, path string, clk clock.Clock, unsafe bool) (*store.Store, error) {
	return store.Open(ctx, store.Options{
		Path: path, Clock: clk, Release: "bench", Instance: filepath.Base(filepath.Dir(path)), NoSync: unsafe,
	})
}
