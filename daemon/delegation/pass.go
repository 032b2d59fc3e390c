package delegation

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"scv/daemon/process"
	"scv/internal/clock"
	"scv/store"
)

// Pass looks once at all processes for all runs: it keeps the ties, finds orphans and stops the due
// ones, stops what ran away from an ended run, and bounds what a run may write.
func (k *Keeper) Pass(ctx context.Context) {
	rows, err := k.rows()
	if err != nil {
		k.o.Log.Error("cannot read the runs", "err", err)
		return
	}
	view, err := k.o.Procs.Scan()
	if err != nil {
		k.o.Log.Error("cannot look at the processes", "err", err)
		return
	}
	for i := range rows {
		k.keepTies(ctx, view, &rows[i])
		k.boundOutput(rows[i].Handle)
	}
	for _, handle := range k.dueOrphans(view, rows) {
		k.work.Go(func() { k.clear(handle) })
	}
	k.stopRunaways(ctx, view, rows)
	k.o.Procs.ReapAdopted(view)
}

// keepTies writes down processes newly tied to a run. Those known gone are dropped along the way only,
// so that an unchanged run costs no commit.
func (k *Keeper) keepTies(ctx context.Context, view process.View, row *store.DelegationRow) {
	ties := k.ties(view, *row)
	fresh := slices.ContainsFunc(ties, func(id process.ID) bool {
		return !slices.Contains(row.Delegation.Ties, store.ProcessID(id))
	})
	if !fresh {
		return
	}
	err := k.o.Store.Observe(ctx, func(tx *store.Observation) error {
		d, known := tx.Delegation(row.Handle)
		if !known {
			return nil
		}
		d.Ties = d.Ties[:0]
		for _, id := range ties {
			d.Ties = append(d.Ties, store.ProcessID(id))
		}
		row.Delegation.Ties = d.Ties
		return tx.PutDelegation(row.Handle, d)
	})
	if err != nil {
		k.o.Log.Error("cannot record the processes of a run", "handle", row.Handle, "err", err)
	}
}

// ties are all live processes of a run, its leader among them.
func (k *Keeper) ties(view process.View, row store.DelegationRow) []process.ID {
	return process.Ties(view, k.traced(row.Handle, row.Delegation))
}

// traced is what the processes of a recorded run are found by.
func (k *Keeper) traced(handle string, d store.Delegation) process.Run {
	run := process.Run{
		Leader: process.ID(d.Leader), Group: d.Leader.PID, Instance: k.o.Instance, Handle: handle,
	}
	for _, id := range d.Ties {
		run.Known = append(run.Known, process.ID(id))
	}
	return run
}

// dueOrphans notes whose owner is gone and returns those listed long enough.
func (k *Keeper) dueOrphans(view process.View, rows []store.DelegationRow) (due []string) {
	now := k.o.Clock.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	current := map[string]clock.Stamp{}
	for _, row := range rows {
		if k.ownerLives(view, row) {
			continue
		}
		since, known := k.lost[row.Handle]
		if !known {
			since = now
			k.o.Log.Info("run is orphaned", "handle", row.Handle, "owner_pid", row.Delegation.Owner.PID)
		}
		current[row.Handle] = since
		if _, busy := k.kills[row.Handle]; !busy && now.Since(since) >= orphanGrace {
			k.kills[row.Handle] = struct{}{}
			due = append(due, row.Handle)
		}
	}
	k.lost = current
	return due
}

// ownerLives is called with mu held. Our own records without a run of this process are ended ones that
// could not be removed; they count as orphans too.
func (k *Keeper) ownerLives(view process.View, row store.DelegationRow) bool {
	if owner := process.ID(row.Delegation.Owner); owner != k.o.Self {
		return view.Live(owner)
	}
	_, ours := k.own[row.Handle]
	return ours
}

func (k *Keeper) boundOutput(handle string) {
	k.mu.Lock()
	run, ours := k.own[handle]
	k.mu.Unlock()
	if !ours {
		return
	}
	for _, name := range []string{"out", "err"} {
		if info, err := os.Stat(filepath.Join(k.folder(handle), name)); err == nil && info.Size() > maxOutput {
			k.work.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
				defer cancel()
				_ = run.Stop(ctx, "it printed more than 64 MiB")
			})
			return
		}
	}
}

// stopRunaways ends processes that fell to us when their parents died, belong to no run that we know,
// and were born while only runs that have ended since were alive.
func (k *Keeper) stopRunaways(ctx context.Context, view process.View, rows []store.DelegationRow) {
	tied := map[process.ID]bool{}
	oldest := ^uint64(0)
	for _, row := range rows {
		for _, id := range k.ties(view, row) {
			tied[id] = true
		}
		if row.Delegation.State != store.RunEnded {
			oldest = min(oldest, row.Delegation.Leader.Start)
		}
	}
	for _, p := range k.o.Procs.Adopted(view) {
		if !tied[p.ID] && p.Start < oldest {
			k.o.Log.Warn("stopping a process that ran away from an ended run", "pid", p.PID)
			k.work.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
				defer cancel()
				if _, err := k.o.Procs.Stop(ctx, process.Run{Known: []process.ID{p.ID}}); err != nil {
					k.o.Log.Error("cannot stop a runaway process", "pid", p.PID, "err", err)
				}
			})
		}
	}
}
