package delegation

import (
	"context"
	"maps"
	"slices"

	"golang.org/x/sys/unix"

	"scv/daemon/process"
	"scv/internal/clock"
	"scv/store"
)

// Pass looks once at all processes for all runs: it keeps the ties, finds orphans and stops the due
// ones, stops what ran away from an ended run or belongs to one that is not on record, and cuts what live agents
// say to their errors.
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
	view, runs, err := k.look(rows)
	if err != nil {
		k.o.Log.Error("cannot look at the processes", "err", err)
		return
	}
	k.keepTies(ctx, runs)
	for _, run := range before.own {
		if run.stays {
			run.bound()
		}
	}
	for _, handle := range k.dueOrphans(view, runs, before.own) {
		k.once(handle, func(ctx context.Context) error { return unlessGone(k.killRecorded(ctx, handle)) })
	}
	k.stopRunaways(view, runs)
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

// looked is a run on record and its live processes, its leader among them.
type looked struct {
	store.DelegationRow
	ties []store.ProcessID
}

// look makes one pass over the processes for all the runs.
func (k *Keeper) look(rows []store.DelegationRow) (view process.View, runs []looked, err error) {
	traced := make([]process.Run, len(rows))
	for i, row := range rows {
		traced[i] = k.traced(row.Handle, row.Delegation)
	}
	if view, err = k.o.Procs.Scan(traced...); err != nil {
		return view, nil, err
	}
	runs = make([]looked, len(rows))
	for i, row := range rows {
		runs[i].DelegationRow = row
		for _, id := range process.Ties(view, traced[i]) {
			runs[i].ties = append(runs[i].ties, store.ProcessID(id))
		}
	}
	return view, runs, nil
}

// tiesAtOnce is how many runs' processes are written down in one transaction: one for each run would take a
// thousand runs a second, one for all would hold up every other writer.
const tiesAtOnce = 100

// keepTies writes down processes newly tied to runs. Those known gone are dropped along the way only, so
// that an unchanged run costs no commit.
func (k *Keeper) keepTies(ctx context.Context, runs []looked) {
	fresh := slices.DeleteFunc(slices.Clone(runs), func(r looked) bool {
		return !slices.ContainsFunc(r.ties, func(id store.ProcessID) bool { return !slices.Contains(r.Delegation.Ties, id) })
	})
	for some := range slices.Chunk(fresh, tiesAtOnce) {
		err := k.o.Store.Observe(ctx, func(tx *store.Observation) error {
			for _, r := range some {
				d, known := tx.Delegation(r.Handle)
				if !known {
					continue
				}
				d.Ties = r.ties
				if err := tx.PutDelegation(r.Handle, d); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			k.o.Log.Error("cannot record the processes of runs", "runs", len(some), "first", some[0].Handle, "err", err)
		}
	}
}

// traced is what the processes of a recorded run are found by. What names none of its processes, by
// damage or by a reboot since, is left out.
func (k *Keeper) traced(handle string, d store.Delegation) process.Run {
	run := process.Run{Instance: k.o.Instance, Handle: handle}
	if id := process.ID(d.Leader); k.plausible(id) {
		run.Leader, run.Group = id, id.PID
	}
	ofThisBoot := d.Leader.Boot == "" || d.Leader.Boot == k.o.Self.Boot
	if own := process.Cgroup(d.Cgroup); ofThisBoot && own.Of(k.o.Instance, handle) {
		run.Cgroup = own
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
func (k *Keeper) dueOrphans(view process.View, runs []looked, own map[string]*Run) (due []string) {
	now := k.o.Clock.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	current := map[string]clock.Stamp{}
	for _, row := range runs {
		if own[row.Handle] != nil || k.ownerLives(view, row.DelegationRow) {
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
		if len(row.ties) == 0 || now.Since(since) >= orphanGrace {
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

// stopRunaways ends processes that fell to us when their parents died, belong to no run that we know,
// and were born while only runs that have ended since were alive.
func (k *Keeper) stopRunaways(view process.View, runs []looked) {
	tied := map[process.ID]bool{}
	oldest := ^uint64(0)
	for _, row := range runs {
		for _, id := range row.ties {
			tied[process.ID(id)] = true
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
