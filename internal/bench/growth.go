package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"scv/internal/clock"
	"scv/store"
	"scv/wire"
)

const (
	growthQuestions = 100_000
	growthPeriods   = 10
	growthPeriod    = 10 * time.Hour // between two sweeps; the daemon's is an hour
	growthTogether  = 20             // questions in one transaction, as when many ask at once
	answeredEvery   = 4              // of the questions one is answered and leaves a receipt, the others lapse
)

// measureGrowth asks and ends 100,000 questions within four days of false time, with sweeps
// between, and compares the file with what a compaction leaves of it. It does not sync: that changes no size.
func measureGrowth(ctx context.Context, b *bench) ([]row, error) {
	path := b.path("growth.db")
	clk := clock.NewVirtual()
	s, err := openStore(ctx, path, clk, true)
	if err != nil {
		return nil, err
	}
	for period := range growthPeriods {
		if err = liveThrough(ctx, s, clk, period); err != nil {
			break
		}
	}
	if err = errors.Join(err, s.Close()); err != nil {
		return nil, err
	}
	file, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	tool := store.Tool{
		Path: path, Lock: b.path("growth.lock"), PID: os.Getpid(), At: time.Now(), Log: slog.New(slog.DiscardHandler),
		Verify: store.Check,
	}
	done, err := tool.Compact(ctx)
	if err != nil {
		return nil, err
	}
	return []row{growthRow(file.Size(), done.After)}, nil
}

func growthRow(file, live int64) row {
	bound := 2*live + mib
	return row{
		what: "store file after 100,000 questions in four days, against its live part (a compacted copy)",
		ours: amount(float64(file)/mib, "MiB"), bare: amount(float64(live)/mib, "MiB"),
		figure: times(float64(file) / float64(live)), target: "≤ 2× + 1 MiB", met: file <= bound,
	}
}

// liveThrough is one period: questions, then time passes, then a sweep.
func liveThrough(ctx context.Context, s *store.Store, clk *clock.Virtual, period int) error {
	const each = growthQuestions / growthPeriods
	for n := period * each; n < (period+1)*each; n += growthTogether {
		if err := liveQuestions(ctx, s, n, clk.Now()); err != nil {
			return err
		}
	}
	clk.Suspend(growthPeriod)
	return s.Sweep(ctx)
}

// liveQuestions is the life of some questions: asked, and then answered or lapsed.
func liveQuestions(ctx context.Context, s *store.Store, from int, now clock.Stamp) error {
	var seqs [growthTogether]uint64
	err := s.Deliver(ctx, func(tx *store.Delivery) (err error) {
		for i := range seqs {
			if seqs[i], err = putQuestion(tx, question(uint64(from+i), now)); err != nil {
				return fmt.Errorf("cannot ask: %w", err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.Deliver(ctx, func(tx *store.Delivery) error {
		for i, seq := range seqs {
			q, kind := question(uint64(from+i), now), "confirm_ended"
			if q.State = wire.Expired; i%answeredEvery == 0 {
				q.State, kind = wire.Yes, store.KindAnswered
			}
			q.Attempted, q.Opened, q.Ended = true, now.Wall, now
			err := errors.Join(tx.PutConfirm(q), tx.AddJournal(kind, "owner", q.ID, nil), tx.DeleteOutbound(account, seq))
			if err != nil {
				return fmt.Errorf("cannot end: %w", err)
			}
		}
		return nil
	})
}
