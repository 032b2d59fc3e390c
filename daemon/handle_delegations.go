package daemon

import (
	"context"

	"scv/store"
	"scv/wire"
)

func (d *Daemon) handleDelegations(_ context.Context, _ call, command wire.Command) (wire.DaemonStatus, error) {
	return d.listing(command.(wire.DelegationsCommand).All)
}

func (d *Daemon) listing(all bool) (wire.DaemonStatus, error) {
	status, err := d.status()
	if err != nil {
		return status, err
	}
	status.Delegations, err = d.runs.List(all)
	return status, err
}

// handleDelegationKill stops one run, or every orphan. A caller inside a run has no runs of its own
// yet to stop: nothing but the daemon starts any.
func (d *Daemon) handleDelegationKill(ctx context.Context, c call, command wire.Command) (wire.DaemonStatus, error) {
	ask := command.(wire.DelegationKillCommand)
	if c.peer.Verdict.Inside {
		return wire.DaemonStatus{}, d.forbid(ctx, c.peer, "delegation_kill")
	}
	killed, err := d.kill(ctx, ask)
	if err != nil {
		return wire.DaemonStatus{}, err
	}
	err = d.store.Observe(ctx, func(tx *store.Observation) error {
		for _, handle := range killed {
			if err := tx.AddJournal("run_killed", c.who(), handle, nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		d.log.Error("cannot write down a kill", "handles", killed, "err", err) // the kill stands: say so
	}
	status, err := d.listing(true)
	status.Delegations.Killed = killed
	return status, err
}

func (d *Daemon) kill(ctx context.Context, ask wire.DelegationKillCommand) ([]string, error) {
	switch {
	case ask.Orphans:
		return d.runs.KillOrphans(ctx)
	case ask.Handle == nil || *ask.Handle == "":
		return nil, wire.Refuse(wire.DelegationError, "name a delegation to stop, or --orphans; scv delegations lists them")
	}
	return []string{*ask.Handle}, d.runs.Kill(ctx, *ask.Handle)
}
