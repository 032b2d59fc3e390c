package daemon

import (
	"context"
	"errors"

	"scv/daemon/restart"
	"scv/store"
	"scv/wire"
)

// handleRestartExplain tells what stands in the way of a restart and asks for none, or how one stands.
func (d *Daemon) handleRestartExplain(ctx context.Context, c call, ask wire.RestartExplain) (wire.RestartDetail, error) {
	plan, under, err := d.plan()
	if err != nil {
		return wire.RestartDetail{}, err
	}
	if ask.ID != nil && (!under || plan.ID != *ask.ID) {
		return d.ended(*ask.ID)
	}
	detail := wire.RestartDetail{Blockers: []string{}, Cut: []string{}}
	if !under && ask.ID == nil {
		plan, err = d.examinedPlan(ctx, c, wire.RestartWhenIdleCommand{Version: ask.Version, Commit: ask.Commit})
		var refused *wire.Error
		switch {
		case errors.As(err, &refused):
			detail.Refusal = &refused.Text
		case err != nil:
			return detail, err
		default:
			detail.Into = &plan.ToVersion
		}
	}
	work, err := d.work(plan)
	if err != nil {
		return detail, err
	}
	detail.Blockers = append(detail.Blockers, work.Blockers(plan)...)
	detail.Cut = append(detail.Cut, work.Cuts()...)
	if under {
		detail.ID, detail.Restart = &plan.ID, restartInfo(plan, work)
	}
	return detail, nil
}

// ended tells of a restart that is over.
func (d *Daemon) ended(id string) (wire.RestartDetail, error) {
	detail := wire.RestartDetail{ID: &id, Blockers: []string{}, Cut: []string{}}
	err := d.store.View(func(v *store.View) error {
		r, known := v.RestartOutcome(id)
		if !known {
			return wire.Refuse(wire.RestartError, "no restart has the id %q", clip(id))
		}
		detail.Updated, detail.Outcome = &r.Updated, &r.Outcome
		detail.Cut = append(detail.Cut, r.Cut...)
		return nil
	})
	return detail, err
}

// restartInfo is a plan as a status tells it.
func restartInfo(plan store.Restart, work restart.Work) *wire.RestartInfo {
	info := &wire.RestartInfo{ToVersion: plan.ToVersion, DeadlineUnixSeconds: uint64(restart.Deadline(plan).Unix())}
	if plan.Step == store.RestartWaiting {
		if waits := work.WaitsFor(plan); waits != "" { // else it restarts with the next look
			info.WaitingFor = &waits
		}
	}
	if plan.Requester != "" {
		info.Requester = &plan.Requester
	}
	if plan.Account != "" {
		info.Origin = &plan.Account
	}
	return info
}
