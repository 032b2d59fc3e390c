package daemon

import (
	"context"
	"slices"
	"time"

	"scv/daemon/restart"
	"scv/internal/failpoint"
	"scv/store"
)

// This file waits with a restart until owner work has ended, and tells the owner how it ended.

// restarting looks each second whether the time of a plan has come, and whether an outcome is to be told.
func (d *Daemon) restarting(ctx context.Context) error {
	tick := time.NewTicker(restart.PlanLook())
	defer tick.Stop()
	for clear := 0; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		d.announce(ctx)
		plan, under, err := d.plan()
		if err != nil {
			d.log.Error("cannot read the plan of a restart", "err", err)
			continue
		}
		if !under || plan.Step != store.RestartWaiting || !d.proving.over() {
			clear = 0
			continue
		}
		var ready bool
		if ready, clear = d.ready(plan, clear); ready {
			clear = 0
			d.goOver(ctx, plan)
		}
	}
}

// ready reports whether a plan waits no longer, and counts the clear looks.
func (d *Daemon) ready(plan store.Restart, clear int) (bool, int) {
	work, err := d.work(plan)
	if err != nil {
		d.log.Error("cannot tell what a restart waits for", "err", err)
		return false, 0
	}
	if work.WaitsFor(plan) != "" {
		return restart.Due(plan, d.clock.Now()), 0
	}
	return clear+1 >= restart.ClearChecks, clear + 1
}

// goOver restarts, or ends the plan with why it could not. What is cut is written down before it is.
func (d *Daemon) goOver(ctx context.Context, plan store.Restart) {
	work, err := d.work(plan)
	if err == nil {
		plan.Cut = work.Cuts()
		err = d.switchOver(ctx, plan)
	}
	if err == nil || ctx.Err() != nil {
		return
	}
	d.log.Error("cannot restart", "plan", plan.ID, "err", err)
	why := err.Error()
	d.insist(ctx, "cannot give up a restart, trying again", func() error { return d.giveUp(ctx, plan, why) })
}

// giveUp ends a plan that cannot be, unless another one has taken its place meanwhile.
func (d *Daemon) giveUp(ctx context.Context, plan store.Restart, why string) error {
	d.planning.Lock()
	defer d.planning.Unlock()
	now, under, err := d.plan()
	if err != nil || !under || now.ID != plan.ID {
		return err
	}
	if err := d.disagree(); err != nil {
		return err
	}
	if err := failpoint.Hit(failpoint.RestartOutcome); err != nil {
		return err
	}
	plan.Cut = nil
	return d.store.Intend(ctx, func(tx *store.Intent) error { return d.endPlan(tx, plan, false, why) })
}

// work is what goes on, as far as a restart cares.
func (d *Daemon) work(plan store.Restart) (w restart.Work, err error) {
	live := d.live.Working()
	err = d.store.View(func(v *store.View) error {
		w = restart.Work{Working: live}
		for _, row := range v.AllClaims() {
			if row.Claim.Owner && row.Claim.Job == nil {
				w.Messages++
			}
			if row.Claim.Handle == plan.Requester && plan.Requester != "" {
				w.Requester.Report = true
			}
		}
		if record, known := v.Delegation(plan.Requester); known {
			w.Requester.Runs = record.State != store.RunEnded && record.IdleSince.Zero()
			w.Requester.Jobs = record.BackgroundJobs
			if record.State == store.RunEnded {
				w.Requester.Report = true
			}
		}
		return nil
	})
	return w, err
}

// whyCut is why a run was cut, where that was a restart.
func (d *Daemon) whyCut(handle string) (why string) {
	err := d.store.View(func(v *store.View) error {
		for _, r := range v.Restarts() {
			if slices.Contains(r.Cut, handle) {
				why = "SCV restarted into " + r.ToVersion + " while the agent was at work."
			}
		}
		return nil
	})
	if err != nil {
		d.log.Error("cannot read the restarts", "err", err)
	}
	return why
}
