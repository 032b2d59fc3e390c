package daemon

import (
	"context"
	"time"

	"scv/daemon/process"
	"scv/daemon/restart"
	"scv/internal/failpoint"
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
	lost  chan error    // has an element when this process cannot go on
	letGo func()        // lets changes go on; nil where they never waited
	ended chan struct{} // closed once no earlier restart is under way
}

// over reports whether no earlier restart is under way.
func (p *proving) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
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
		Procs: d.procs, Signals: d.o.Signals, Log: d.log, Launch: d.launch(), Leave: d.leaveSoon,
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
	if err := d.dropPlan(ctx); err != nil {
		return err
	}
	if d.proving.Probation != nil {
		if err := d.noteProving(ctx); err != nil {
			return err
		}
	}
	if d.moves() {
		d.proving.letGo = d.store.Hold(heldWrite)
	}
	if d.proving.Probation == nil && d.o.Start.Settled == nil {
		close(d.proving.ended)
		return nil
	}
	d.rooms.running("end of the restart", d.endRestart)
	return nil
}

// dropPlan ends a plan that this start finds and that no hand-over belongs to: one was made for it and is
// forgotten, or another request was about to take its place. Nobody else would ever end it, and it would be in the way of each
// later one.
func (d *Daemon) dropPlan(ctx context.Context) error {
	plan, under, err := d.plan()
	if err != nil || !under || plan.ID == d.underWay() {
		return err
	}
	sum, err := restart.RunningHash()
	if err != nil {
		return err
	}
	updated, why := sum == plan.SHA256, ""
	if !updated { // and nothing came of it, however far it was
		plan.Step, why = store.RestartWaiting, "the daemon ended before it could"
	}
	d.log.Warn("a plan to restart is dropped, since nobody has begun it", "plan", plan.ID, "to", plan.ToVersion)
	return d.store.Intend(ctx, func(tx *store.Intent) error { return d.endPlan(tx, plan, updated, why) })
}

// underWay is the plan of the restart that this start is part of, "" for none.
func (d *Daemon) underWay() string {
	switch {
	case d.proving.Probation != nil:
		return d.proving.Handover().Plan
	case d.o.Start.Settled != nil:
		return d.o.Start.Settled.Plan
	}
	return ""
}

// noteProving is the first change that a release on probation makes: one that cannot is no good.
func (d *Daemon) noteProving(ctx context.Context) error {
	if err := failpoint.Hit(failpoint.RestartProving); err != nil {
		return err
	}
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

// settle stores the outcome under the plan and then forgets the hand-over, each as often as it takes: what
// stays of one would be in the way of the next.
func (d *Daemon) settle(ctx context.Context, s restart.Settled) error {
	if !d.insist(ctx, "cannot store how the restart ended, trying again", func() error { return d.storeOutcome(ctx, s) }) {
		return nil
	}
	d.log.Info("the restart has ended", "updated", s.Updated, "why", s.Why)
	d.wake()
	if s.Stuck {
		d.log.Error("the old release serves from its copy, since it could not be installed again; install a good release there")
	} else if !d.insist(ctx, "cannot forget the restart that has ended, trying again", restart.In(d.home.Path).End) {
		return nil
	}
	close(d.proving.ended)
	return nil
}

func (d *Daemon) storeOutcome(ctx context.Context, s restart.Settled) error {
	if err := failpoint.Hit(failpoint.RestartOutcome); err != nil {
		return err
	}
	return d.store.Intend(ctx, func(tx *store.Intent) error {
		plan, under := tx.RestartPlan()
		if !under || plan.ID != s.Plan {
			return nil // it has ended already, or was lost with the store
		}
		return d.endPlan(tx, plan, s.Updated, s.Why)
	})
}

// insist does what must be done until it is. False: the daemon ends first.
func (d *Daemon) insist(ctx context.Context, failing string, do func() error) bool {
	for {
		err := do()
		if err == nil {
			return true
		}
		d.log.Error(failing, "err", err)
		select {
		case <-ctx.Done():
			return false
		case <-time.After(time.Second):
		}
	}
}
