package delegation

import (
	"context"
	"slices"

	"scv/daemon/process"
	"scv/store"
)

// stopUnknown ends runs of this instance that processes name and the store does not, and reports whether
// there are any: the store was lost or replaced while they ran. Runs that we are in ourselves are not
// ours to stop; what we start carries their names too.
func (k *Keeper) stopUnknown(view process.View, rows []store.DelegationRow) (found bool) {
	outer := process.HandlesIn(k.o.Parent, k.o.Instance)
	for _, handle := range view.Handles(k.o.Instance) {
		recorded := slices.ContainsFunc(rows, func(r store.DelegationRow) bool { return r.Handle == handle })
		if recorded || slices.Contains(outer, handle) || k.owns(handle) || !near(view.Tagged(k.o.Instance, handle)) {
			continue
		}
		found = true
		k.once(handle, func(ctx context.Context) error { return k.killUnknown(ctx, handle) })
	}
	return found
}

// near reports whether one of them runs beside us, and not in a container.
func near(procs []process.Proc) bool {
	return slices.ContainsFunc(procs, func(p process.Proc) bool { return process.Neighbour(p.PID) })
}

func (k *Keeper) owns(handle string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.own[handle] != nil
}

// killUnknown looks at the records once more: those of the pass are older than its look at the processes,
// and a run is on record before it has any.
func (k *Keeper) killUnknown(ctx context.Context, handle string) error {
	if _, known, err := k.Record(handle); err != nil || known {
		return err
	}
	run := process.Run{Instance: k.o.Instance, Handle: handle}
	view, err := k.o.Procs.Scan()
	if err != nil {
		return err
	}
	for _, id := range process.Ties(view, run) {
		k.o.Log.Warn("stopping a process of a run that is not on record", "pid", id.PID, "handle", handle)
	}
	_, err = k.o.Procs.Stop(ctx, run)
	return err
}
