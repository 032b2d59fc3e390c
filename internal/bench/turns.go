package main

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// sample measures one side once.
type sample func(context.Context) (float64, error)

// inTurns measures several sides in rounds and returns the median of each. Each round begins with the
// next side, so that none is always measured in the wake of the same other.
func inTurns(ctx context.Context, rounds int, sides ...sample) ([]float64, error) {
	all := make([][]float64, len(sides))
	for n := range rounds {
		for i := range sides {
			side := (n + i) % len(sides)
			v, err := sides[side](ctx)
			if err != nil {
				return nil, err
			}
			all[side] = append(all[side], v)
		}
	}
	medians := make([]float64, len(sides))
	for i, values := range all {
		medians[i] = median(values)
	}
	return medians, nil
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// rate lets workers do one thing over and over for a while, and returns how often per second it was done.
// do gets the number of its worker; the first error ends all.
func rate(ctx context.Context, workers int, span time.Duration, do func(ctx context.Context, worker int) error) (float64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var done atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
	for worker := range workers {
		all.Go(func() {
			for time.Since(began) < span && ctx.Err() == nil {
				if err := do(ctx, worker); err != nil {
					cancel(err)
					return
				}
				done.Add(1)
			}
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	return float64(done.Load()) / time.Since(began).Seconds(), nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
