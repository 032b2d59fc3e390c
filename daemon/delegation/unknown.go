package delegation

import (
	"context"
	"slices"

	"scv/daemon/process"
	"scv/store"
)

// stopUnknown ends runs of this instance that processes or cgroups name and the store does not, and reports
// whether there are any: the store was lost or replaced while they ran, or we died before we could remove what
// an ended run had. Runs that we are in ourselves are not ours to stop; what we start carries their names too.
func (k *Keeper) stopUnknown(view process.View, rows []store.DelegationRow) (found bool) {
	outer := process.HandlesIn(k.o.Parent, k.o.Instance)
	recorded := make(map[string]bool, len(rows))
	for _, row := range rows {
		recorded[row.Handle] = true
	}
	for _, handle := range k.named(view) {
		if recorded[handle] || slices.Contains(outer, handle) || k.owns(handle) {
			continue
		}
		found = true
		k.once(handle, func(ctx context.Context) error { return k.killUnknown(ctx, handle) })
	}
	return found
}

// named are the runs that the tags of processes beside us name, and those that have a cgroup.
func (k *Keeper) named(view process.View) (handles []string) {
	for _, handle := range view.Handles(k.o.Instance) {
		if near(view.Tagged(k.o.Instance, handle)) {
			handles = append(handles, handle)
		}
	}
	left, err := k.o.Cgroups.Handles(k.o.Instance)
	if err != nil {
		k.o.Log.Error("cannot look for what forgotten runs left", "err", err)
	}
	handles = append(handles, left...)
	slices.Sort(handles)
	return slices.Compact(handles)
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
	run := process.Run{Instance: k.o.Instance, Handle: handle, Cgroup: k.o.Cgroups.For(k.o.Instance, handle)}
	view, err := k.o.Procs.Scan(run)
	if err != nil {
		return err
	}
	all := process.Explain(view, run)
	if len(all) > 0 && !slices.ContainsFunc(all, func(e process.Evidence) bool { return process.Neighbour(e.PID) }) {
		return nil // a container's, which shares our cgroup
	}
	for _, e := range all {
		k.o.Log.Warn("stopping a process of a run that is not on record", "pid", e.PID, "handle", handle, "tied_by", string(e.How))
	}
	_, err = k.o.Procs.Stop(ctx, run)
	return err
}
