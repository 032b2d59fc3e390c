package delegation

import (
	"context"
	"errors"
	"slices"
	"sync"

	"scv/daemon/process"
	"scv/store"
	"scv/wire"
)

// stopTree stops everything that is tied to a run and proves it gone; it returns what survived.
// leader helps where the record does not know it yet; it may be zero.
func (k *Keeper) stopTree(ctx context.Context, handle string, leader process.ID) ([]process.ID, error) {
	d, _, err := k.Record(handle)
	if err != nil {
		return nil, err
	}
	if d.Leader.PID == 0 {
		d.Leader = store.ProcessID(leader)
	}
	return k.o.Procs.Stop(ctx, k.traced(handle, d))
}

// Kill stops one run on request. A refusal is a *wire.Error.
func (k *Keeper) Kill(ctx context.Context, handle string) error {
	k.mu.Lock()
	run := k.own[handle]
	k.mu.Unlock()
	var err error
	if run != nil {
		err = run.Stop(ctx, "it was stopped on request")
	} else {
		err = k.killRecorded(ctx, handle)
	}
	var survivors *SurvivorsError
	if errors.As(err, &survivors) {
		return wire.Refuse(wire.DelegationError, "%s", survivors)
	}
	return err
}

// killRecorded stops a run whose owner is another process or gone.
func (k *Keeper) killRecorded(ctx context.Context, handle string) error {
	rows, err := k.rows()
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(rows, func(r store.DelegationRow) bool { return r.Handle == handle }) {
		return wire.Refuse(wire.DelegationError, "no delegation has the handle %q; scv delegations --all lists them", handle)
	}
	survivors, err := k.stopTree(ctx, handle, process.ID{})
	if err != nil {
		return err
	}
	if len(survivors) > 0 {
		return &SurvivorsError{Handle: handle, Survivors: survivors}
	}
	if k.isLost(handle) {
		return k.clearedOrphan(ctx, handle)
	}
	return nil
}

// KillOrphans stops every orphan at once and returns the handles of those that are gone.
func (k *Keeper) KillOrphans(ctx context.Context) ([]string, error) {
	k.mu.Lock()
	handles := make([]string, 0, len(k.lost))
	for handle := range k.lost {
		handles = append(handles, handle)
	}
	k.mu.Unlock()
	slices.Sort(handles)
	errs := make([]error, len(handles))
	var all sync.WaitGroup
	for i, handle := range handles {
		all.Go(func() { errs[i] = k.Kill(ctx, handle) })
	}
	all.Wait()
	var killed []string
	for i, handle := range handles {
		if errs[i] == nil {
			killed = append(killed, handle)
		}
	}
	return killed, errors.Join(errs...)
}

// clear stops one due orphan. What fails is tried again by a later pass.
func (k *Keeper) clear(handle string) {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.kills, handle)
	}()
	if err := k.killRecorded(ctx, handle); err != nil {
		k.o.Log.Error("cannot stop an orphaned run, trying again", "handle", handle, "err", err)
	}
}

// clearedOrphan removes the record of an orphan that is gone, once its report is stored: while a claim
// still names it, the turn that answers the claim may need what it printed.
func (k *Keeper) clearedOrphan(ctx context.Context, handle string) error {
	reported, err := k.reported(handle)
	if err != nil || !reported {
		return err
	}
	k.mu.Lock()
	_, lost := k.lost[handle]
	if lost {
		delete(k.lost, handle)
		k.reaped++
	}
	k.mu.Unlock()
	if !lost {
		return nil
	}
	return k.forget(ctx, handle)
}

func (k *Keeper) reported(handle string) (reported bool, err error) {
	err = k.o.Store.View(func(v *store.View) error {
		reported = !slices.ContainsFunc(v.AllClaims(), func(r store.ClaimRow) bool { return r.Claim.Handle == handle })
		return nil
	})
	return reported, err
}

func (k *Keeper) isLost(handle string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, lost := k.lost[handle]
	return lost
}
