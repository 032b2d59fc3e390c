package daemon

import (
	"context"
	"time"

	"scv/daemon/process"
	"scv/daemon/restart"
	"scv/store"
)

// This file is what a release on probation does otherwise than a proven one, and how a restart ends.

const (
	heldWrite   = 5 * time.Second   // a change waits so long for the verdict, where it has to
	accountWait = 180 * time.Second // for accounts that were connected to come back after the verdict
)

// proving is the part of the daemon that is on probation.
type proving struct {
	*restart.Probation
	lost  chan error // has an element when this process cannot go on
	letGo func()     // lets changes go on; nil where they never waited
}

// beginProving watches over the verdict, from before the store is opened.
func (d *Daemon) beginProving(context.Context) error {
	p := d.o.Start.Probation
	if p == nil {
		return restart.In(d.home.Path).Tidy()
	}
	d.log.Info("on probation", "from", p.Handover().Old.Version, "commit", p.Handover().New.Commit)
	d.proving.Probation = p
	d.takeUpGuard(p.Folder())
	means := restart.Means{
		Procs: d.procs, Signals: d.o.Signals, Log: d.log, Launch: d.o.Launch, Leave: d.leaveSoon,
	}
	d.rooms.running("probation", func(ctx context.Context) error {
		if err := p.Watch(ctx, means); err != nil {
			d.proving.lost <- err
			return err
		}
		return nil
	})
	return nil
}

// takeUpGuard makes the guard that an earlier program of this process has started known as a child of ours: it
// is no process that ran away from a run.
func (d *Daemon) takeUpGuard(f restart.Folder) {
	id, there := f.GuardOf()
	if !there {
		return
	}
	guard, err := d.procs.Adopt(id, process.Cgroup{})
	if err != nil {
		return // somebody else has started it
	}
	go guard.Wait() // it is reaped; its end shows in its lock
}

// phase tells the guard what takes its time.
func (d *Daemon) phase(phase restart.Phase) {
	if d.proving.Probation != nil {
		d.proving.Enter(phase)
	}
}

// moves reports whether this release has changed the store's schema and is not yet trusted.
func (d *Daemon) moves() bool { return d.proving.Probation != nil && d.proving.Handover().Moves() }

// holdChanges comes before anything runs by itself: where a rollback would put the store back, nothing is
// acknowledged, sent or begun before the verdict.
func (d *Daemon) holdChanges(ctx context.Context) error {
	if d.proving.Probation != nil {
		if err := d.noteProving(ctx); err != nil {
			return err
		}
	}
	if d.moves() {
		d.proving.letGo = d.store.Hold(heldWrite)
	}
	if d.proving.Probation != nil || d.o.Start.Settled != nil {
		d.rooms.running("end of the restart", d.endRestart)
	}
	return nil
}

// noteProving is the first change that a release on probation makes: one that cannot is no good.
func (d *Daemon) noteProving(ctx context.Context) error {
	return d.store.Intend(ctx, func(tx *store.Intent) error {
		plan, under := tx.RestartPlan()
		if !under || plan.ID != d.proving.Handover().Plan {
			return tx.AddJournal("restart_proving", "daemon", d.o.Version, nil)
		}
		plan.Step = store.RestartProving
		return tx.PutRestartPlan(plan)
	})
}

// endRestart waits for the verdict of a release on probation, stores how the restart ended, and clears up.
func (d *Daemon) endRestart(ctx context.Context) error {
	settled := d.o.Start.Settled
	if p := d.proving.Probation; p != nil {
		select {
		case <-p.Accepted():
		case <-ctx.Done():
			return nil
		}
		settled = &restart.Settled{Plan: p.Handover().Plan, Updated: true}
		if d.proving.letGo != nil {
			if err := d.questions.load(); err != nil { // nobody could ask with effect meanwhile
				d.log.Error("cannot grant the questions their time", "err", err)
			}
			d.proving.letGo()
			d.wake()
			settled.Why = d.awaitAccounts(ctx, p)
		}
	}
	return d.settle(ctx, *settled)
}

// awaitAccounts waits for the accounts that the old release had connected. It returns what to say of one that
// does not come back: the store's schema moved, so that there is no way back.
func (d *Daemon) awaitAccounts(ctx context.Context, p *restart.Probation) string {
	wait := time.NewTimer(accountWait)
	defer wait.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		missing := p.Folder().Missing(d.connected())
		if missing == "" {
			return ""
		}
		select {
		case <-ctx.Done():
			return ""
		case <-wait.C:
			return "the account " + missing + " has not come back"
		case <-tick.C:
		}
	}
}

// settle stores the outcome under the plan, as often as it takes, and then forgets the hand-over.
func (d *Daemon) settle(ctx context.Context, s restart.Settled) error {
	for {
		err := d.store.Intend(ctx, func(tx *store.Intent) error {
			plan, under := tx.RestartPlan()
			if !under || plan.ID != s.Plan {
				return nil // it has ended already, or was lost with the store
			}
			return d.endPlan(tx, plan, s.Updated, s.Why)
		})
		if err == nil {
			break
		}
		d.log.Error("cannot store how the restart ended, trying again", "err", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
	d.log.Info("the restart has ended", "updated", s.Updated, "why", s.Why)
	d.wake()
	if s.Stuck {
		d.log.Error("the old release serves from its copy, since it could not be installed again; install a good release there")
		return nil
	}
	return restart.In(d.home.Path).End()
}
