package delegation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"scv/daemon/process"
	"scv/store"
	"scv/wire"
)

// stopTree stops everything that is tied to a run and proves it gone; it returns what survived. leader is
// zero unless the run is ours: then it counts more than the record, and must do where that cannot be read.
func (k *Keeper) stopTree(ctx context.Context, handle string, leader process.ID) ([]process.ID, error) {
	d, _, err := k.Record(handle)
	if err != nil && leader.PID == 0 {
		return nil, err
	}
	if leader.PID != 0 {
		d.Leader = store.ProcessID(leader)
	}
	if err != nil {
		d.Cgroup = store.Cgroup(k.o.Cgroups.For(k.o.Instance, handle))
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
		err = run.Stop(ctx, "on request")
	} else {
		err = k.killRecorded(ctx, handle)
	}
	var survivors *SurvivorsError
	if errors.As(err, &survivors) {
		return wire.Refuse(wire.DelegationError, "%s", survivors)
	}
	return err
}

// Unknown refuses a handle that nothing is known of.
func Unknown(handle string) error {
	return &unknownRun{wire.Refuse(wire.DelegationError, "no run has the handle %q, or it has ended; scv delegations --all lists those that are left", handle)}
}

// unknownRun can be told from other refusals.
type unknownRun struct{ refusal *wire.Error }

func (u *unknownRun) Error() string { return u.refusal.Error() }
func (u *unknownRun) Unwrap() error { return u.refusal }

// unlessGone takes it for a success that a run to be stopped is not on record any more: somebody else saw to it
// since the records were read.
func unlessGone(err error) error {
	if _, gone := errors.AsType[*unknownRun](err); gone {
		return nil
	}
	return err
}

// killRecorded stops a run whose owner is another process or gone.
func (k *Keeper) killRecorded(ctx context.Context, handle string) error {
	d, known, err := k.Record(handle)
	if err != nil {
		return err
	}
	if !known {
		return Unknown(handle)
	}
	survivors, err := k.stopTree(ctx, handle, process.ID{})
	if err != nil {
		return err
	}
	if len(survivors) > 0 {
		return &SurvivorsError{Handle: handle, Survivors: survivors}
	}
	ran := d.State != store.RunEnded
	if ran && k.isLost(handle) {
		if err := k.removeOutput(handle); err != nil { // nobody reads it, and the report needs room
			return err
		}
	}
	return k.clearedOrphan(ctx, handle, ran)
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
		all.Go(func() { errs[i] = unlessGone(k.Kill(ctx, handle)) })
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

// clearedOrphan removes the record of a run that is gone, if it is an orphan and its report is stored:
// while a claim still names it, the turn that answers the claim may need what it printed.
func (k *Keeper) clearedOrphan(ctx context.Context, handle string, ran bool) error {
	reported, err := k.reported(handle)
	if err != nil || !reported {
		return err
	}
	if !k.isLost(handle) {
		return nil
	}
	removed, err := k.forget(ctx, handle)
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.lost, handle)
	if removed && ran { // by this call: a pass and a person may stop the same orphan
		k.reaped++
	}
	return err
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

// SurvivorsError names the processes that KILL did not end.
type SurvivorsError struct {
	Handle    string
	Survivors []process.ID
}

func (e *SurvivorsError) Error() string {
	pids := make([]string, len(e.Survivors))
	for i, id := range e.Survivors {
		pids[i] = strconv.Itoa(id.PID)
	}
	noun := "processes"
	if len(pids) == 1 {
		noun = "process"
	}
	return fmt.Sprintf("run %q: %d %s survived KILL: %s", e.Handle, len(pids), noun, strings.Join(pids, ", "))
}
