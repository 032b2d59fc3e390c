package delegation

import (
	"context"
	"slices"
	"time"

	"scv/daemon/process"
	"scv/store"
	"scv/wire"
)

// This file is for runs that another SCV process owns: scv delegate starts its agent itself, so that the
// agent ends with it. The daemon keeps the record, the ties and the end.

// maxRuns bounds the records: each pass looks at them all.
const maxRuns = 4096

// Register puts a run on record before its owner starts it. A repeat by the same owner, as after a restart
// of the daemon, changes nothing.
func (k *Keeper) Register(ctx context.Context, owner process.ID, handle string, about store.Delegation) error {
	about.State, about.Owner, about.Started = store.RunStarting, store.ProcessID(owner), k.o.Clock.Now()
	err := k.o.Store.Observe(ctx, func(tx *store.Observation) error {
		if d, known := tx.Delegation(handle); known {
			return k.checkOwner(handle, d, owner)
		}
		rows := tx.Delegations()
		if len(rows) >= maxRuns {
			return wire.Refuse(wire.DelegationError, "%d runs are on record already; scv delegations lists them", len(rows))
		}
		if busy := inUse(rows, about); busy != "" {
			return wire.Refuse(wire.DelegationError, "the conversation is in use by %s; wait for it, or kill it", busy)
		}
		return tx.PutDelegation(handle, about)
	})
	if err == nil {
		k.lookAgain()
	}
	return err
}

// inUse is the run that holds the conversation of a new one: an agent's session takes one turn at a time.
func inUse(rows []store.DelegationRow, about store.Delegation) string {
	i := slices.IndexFunc(rows, func(r store.DelegationRow) bool {
		return about.Memory != "" && r.Account == about.Account && r.Memory == about.Memory
	})
	if i < 0 {
		return ""
	}
	return rows[i].Handle
}

// Attach records the leader that the owner has started. What the owner says is not believed: the process
// must be a living descendant of it and carry the run's tag.
func (k *Keeper) Attach(ctx context.Context, owner process.ID, handle string, pid int) error {
	leader, err := k.leaderOf(ctx, owner, handle, pid)
	if err != nil {
		return err
	}
	return k.o.Store.Observe(ctx, func(tx *store.Observation) error {
		d, known := tx.Delegation(handle)
		if !known {
			return Unknown(handle)
		}
		if err := k.checkOwner(handle, d, owner); err != nil {
			return err
		}
		d.Leader, d.State = store.ProcessID(leader.ID), store.RunLive
		d.Cgroup = store.Cgroup(process.CgroupOf(pid, k.o.Instance, handle))
		return tx.PutDelegation(handle, d)
	})
}

// unseen are the pauses before further looks at a process without the tag: in the middle of its exec it has no
// environment, which its owner cannot know, and just before its end neither.
var unseen = []time.Duration{5 * time.Millisecond, 20 * time.Millisecond, 80 * time.Millisecond, 300 * time.Millisecond}

func (k *Keeper) leaderOf(ctx context.Context, owner process.ID, handle string, pid int) (process.Proc, error) {
	for look := 0; ; look++ {
		view, err := k.o.Procs.Scan()
		if err != nil {
			return process.Proc{}, err
		}
		is := func(p process.Proc) bool { return p.PID == pid }
		leader, there := view.At(pid)
		below := there && !leader.Zombie() && leader.PGID == pid && slices.ContainsFunc(view.Descendants(owner), is)
		switch {
		case below && slices.ContainsFunc(view.Tagged(k.o.Instance, handle), is):
			return leader, nil
		case !below || look == len(unseen):
			return leader, wire.Refuse(wire.DelegationError, "process %d is not a living child of yours that leads its own group "+
				"and carries the tag of %s", pid, handle)
		}
		select {
		case <-ctx.Done():
			return leader, ctx.Err()
		case <-time.After(unseen[look]):
		}
	}
}

// Released proves that nothing is left of a run whose owner says that it ended. The caller then removes its
// record together with its report. Survivors are an error.
func (k *Keeper) Released(ctx context.Context, owner process.ID, handle string) (store.Delegation, error) {
	d, known, err := k.Record(handle)
	if err != nil {
		return d, err
	}
	if !known {
		return d, Unknown(handle)
	}
	if err := k.checkOwner(handle, d, owner); err != nil {
		return d, err
	}
	survivors, err := k.stopTree(ctx, handle, process.ID{})
	if err == nil && len(survivors) > 0 {
		err = wire.Refuse(wire.DelegationError, "%s", &SurvivorsError{Handle: handle, Survivors: survivors})
	}
	return d, err
}

func (k *Keeper) checkOwner(handle string, d store.Delegation, owner process.ID) error {
	if !process.ID(d.Owner).Is(owner) {
		return wire.Refuse(wire.DelegationError, "the run %q belongs to another process", handle)
	}
	return nil
}

// lookAgain makes passes look although they had found nothing: somebody else starts processes for us.
func (k *Keeper) lookAgain() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.starts++
}

// WhyLost is why nobody knows how a run ended, as a sentence.
func (k *Keeper) WhyLost(handle string) string {
	d, known, err := k.Record(handle)
	if err == nil && known && d.Owner.Boot != "" && d.Owner.Boot != k.o.Self.Boot { // a leader may not be known yet
		return "The machine was restarted while the agent was at work."
	}
	return "SCV was stopped while the agent was at work."
}
