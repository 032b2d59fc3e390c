package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"scv/internal/clock"
	"scv/store"
	"scv/wire"
)

const (
	growthQuestions = 100_000
	growthPeriods   = 24
	growthPeriod    = 4 * time.Hour // between two sweeps; the daemon's is shorter
	answeredEvery   = 4             // of the questions one is answered and leaves a receipt, the others lapse
)

// measureGrowth asks and ends 100,000 questions within four days of false time, sweeping as the daemon does,
// and compares the file with what a compaction leaves of it. It does not sync: that changes no size.
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

// liveThrough is one period: questions from many callers, then time passes, then a sweep.
func liveThrough(ctx context.Context, s *store.Store, clk *clock.Virtual, period int) error {
	const each = growthQuestions / growthPeriods
	var next atomic.Uint64
	next.Store(uint64(period * each))
	last := uint64((period + 1) * each)
	if period == growthPeriods-1 {
		last = growthQuestions
	}
	var all sync.WaitGroup
	errs := make([]error, askers)
	for worker := range askers {
		all.Go(func() {
			for n := next.Add(1); n <= last && errs[worker] == nil; n = next.Add(1) {
				errs[worker] = liveQuestion(ctx, s, n, clk.Now())
			}
		})
	}
	all.Wait()
	clk.Suspend(growthPeriod)
	return errors.Join(append(errs, s.Sweep(ctx))...)
}

// liveQuestion is the life of one question: asked, and then answered or lapsed.
func liveQuestion(ctx context.Context, s *store.Store, n uint64, now clock.Stamp) error {
	q := question(n*0x9e3779b97f4a7c15>>16, now) // ids lie as scattered as random ones
	var seq uint64
	err := s.Deliver(ctx, func(tx *store.Delivery) (err error) {
		seq, err = putQuestion(tx, q)
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot ask: %w", err)
	}
	return s.Deliver(ctx, func(tx *store.Delivery) error {
		kind := "confirm_ended"
		if q.State = wire.Expired; n%answeredEvery == 0 {
			q.State, kind = wire.Yes, store.KindAnswered
		}
		q.Attempted, q.Opened, q.Ended = true, now.Wall, now
		return errors.Join(tx.PutConfirm(q), tx.AddJournal(kind, "owner", q.ID, nil), tx.DeleteOutbound(account, seq))
	})
}
