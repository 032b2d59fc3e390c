package delegation

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sys/unix"

	"scv/daemon/process"
	"scv/internal/clock"
	"scv/store"
)

// Pass looks once at all processes for all runs: it keeps the ties, finds orphans and stops the due
// ones, stops what ran away from an ended run or belongs to one that is not on record, and bounds what a
// run may write.
func (k *Keeper) Pass(ctx context.Context) {
	before := k.activity()
	rows, err := k.rows()
	if err != nil {
		k.o.Log.Error("cannot read the runs", "err", err)
		return
	}
	if len(rows) == 0 && before.quiet {
		return // an idle daemon looks at nothing
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
	for _, handle := range k.dueOrphans(view, rows, before.own) {
		k.once(handle, func(ctx context.Context) error { return k.killRecorded(ctx, handle) })
	}
	k.stopRunaways(view, rows)
	unknown := k.stopUnknown(view, rows)
	k.o.Procs.ReapAdopted(view)
	if len(rows) == 0 && !unknown && len(k.o.Procs.Adopted(view)) == 0 {
		k.foundNothing(before.starts)
	}
}

// activity is what a pass must know from before it reads the records.
type activity struct {
	own    map[string]*Run
	starts int  // runs started so far
	quiet  bool // a pass since the last of them found nothing
}

func (k *Keeper) activity() activity {
	k.mu.Lock()
	defer k.mu.Unlock()
	return activity{maps.Clone(k.own), k.starts, k.nothing == k.starts}
}

// once stops something in the background, unless that is under way. What fails is tried again by a
// later pass.
func (k *Keeper) once(what string, stop func(ctx context.Context) error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, busy := k.stops[what]; busy {
		return
	}
	k.stops[what] = struct{}{}
	k.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		if err := stop(ctx); err != nil {
			k.o.Log.Error("cannot stop a run or what it left, trying again", "what", what, "err", err)
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.stops, what)
	})
}

func (k *Keeper) foundNothing(starts int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.nothing = starts
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

// traced is what the processes of a recorded run are found by. What names none of its processes, by
// damage or by a reboot since, is left out.
func (k *Keeper) traced(handle string, d store.Delegation) process.Run {
	run := process.Run{Instance: k.o.Instance, Handle: handle}
	if id := process.ID(d.Leader); k.plausible(id) {
		run.Leader, run.Group = id, id.PID
	}
	for _, tie := range d.Ties {
		if id := process.ID(tie); k.plausible(id) {
			run.Known = append(run.Known, id)
		}
	}
	return run
}

// plausible reports whether id can be a process of a run. The room of processes refuses the others with
// an error, and a run with one damaged number could then never be stopped.
func (k *Keeper) plausible(id process.ID) bool {
	const largest = 4 << 20 // Linux: PID_MAX_LIMIT
	return id.Boot == k.o.Self.Boot && id.PID > 1 && id.PID <= largest &&
		id.PID != k.o.Self.PID && id.PID != unix.Getpgrp()
}

// dueOrphans notes whose owner is gone and returns those with nothing left or listed long enough. own is which runs were ours
// before the records were read.
func (k *Keeper) dueOrphans(view process.View, rows []store.DelegationRow, own map[string]*Run) (due []string) {
	now := k.o.Clock.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	current := map[string]clock.Stamp{}
	for _, row := range rows {
		if own[row.Handle] != nil || k.ownerLives(view, row) {
			continue
		}
		since, known := k.lost[row.Handle]
		if !known {
			since = now
			k.o.Log.Info("run is orphaned", "handle", row.Handle, "owner_pid", row.Delegation.Owner.PID)
		}
		current[row.Handle] = since
		// What has no process left waits for nothing: a daemon that is killed again and again would only
		// heap up records.
		if len(k.ties(view, row)) == 0 || now.Since(since) >= orphanGrace {
			due = append(due, row.Handle)
		}
	}
	k.lost = current
	return due
}

// ownerLives is called with mu held. Our own records without a run of this process are of runs that
// could not be closed; they count as orphans too.
func (k *Keeper) ownerLives(view process.View, row store.DelegationRow) bool {
	if owner := process.ID(row.Delegation.Owner); !owner.Is(k.o.Self) {
		return view.Live(owner)
	}
	return k.own[row.Handle] != nil
}

func (k *Keeper) boundOutput(handle string) {
	k.mu.Lock()
	run := k.own[handle]
	k.mu.Unlock()
	if run == nil || run.size() <= k.o.maxOutput {
		return
	}
	k.once(handle, func(ctx context.Context) error {
		return run.Stop(ctx, fmt.Sprintf("because it printed more than %d MiB", k.o.maxOutput>>20))
	})
}

// stopRunaways ends processes that fell to us when their parents died, belong to no run that we know,
// and were born while only runs that have ended since were alive.
func (k *Keeper) stopRunaways(view process.View, rows []store.DelegationRow) {
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
			k.once(p.ID.String(), func(ctx context.Context) error {
				k.o.Log.Warn("stopping a process that ran away from an ended run", "pid", p.PID)
				_, err := k.o.Procs.Stop(ctx, process.Run{Known: []process.ID{p.ID}})
				return err
			})
		}
	}
}
