package delegation

import (
	"context"
	"errors"

	"scv/daemon/process"
	"scv/store"
)

// ended records the outcome before the report is made, so that a crash between the two loses neither:
// the output is in the run's folder, and Ended finds it.
func (k *Keeper) ended(ctx context.Context, handle string, exit process.Exit, stopped string) error {
	return k.o.Store.Observe(ctx, func(tx *store.Observation) error {
		d, known := tx.Delegation(handle)
		if !known {
			return nil // it could not even be started; Start says so
		}
		d.State, d.ExitCode, d.Stopped, d.Ties = store.RunEnded, exit.Code, stopped, nil
		return tx.PutDelegation(handle, d)
	})
}

// ErrNotEnded is a run of which nobody knows how it ended.
var ErrNotEnded = errors.New("it had not ended")

// Ended is the result of a run that ended and was not reported, whoever owned it; of what it printed what
// Result would give. The error is ErrNotEnded, or what it printed cannot be read.
func (k *Keeper) Ended(handle string, limit int64) (store.Delegation, Result, error) {
	d, known, err := k.Record(handle)
	switch {
	case err != nil:
		return d, Result{}, err
	case !known || d.State != store.RunEnded:
		return d, Result{}, ErrNotEnded
	}
	left, err := openOutput(k.folder(handle))
	if err != nil {
		return d, Result{}, err
	}
	defer left.close()
	r := Result{Exit: process.Exit{Code: d.ExitCode}, Stopped: d.Stopped}
	r.Output, r.Truncated, err = left.answer(k.o.Condenser(d.Agent), limit)
	r.Errors = left.tail()
	return d, r, err
}
