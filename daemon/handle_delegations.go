package daemon

import (
	"context"
	"strings"

	"scv/daemon/delegation"
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

// handleDelegationKill stops one run, or every orphan. A caller inside a run may stop what was started from
// inside it, and nothing else.
func (d *Daemon) handleDelegationKill(ctx context.Context, c call, command wire.Command) (wire.DaemonStatus, error) {
	ask := command.(wire.DelegationKillCommand)
	if c.peer.Verdict.Inside {
		mine, err := d.ownRun(c, ask)
		if err != nil {
			return wire.DaemonStatus{}, err
		}
		if !mine {
			return wire.DaemonStatus{}, d.forbid(ctx, c.peer, "delegation_kill")
		}
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

// ownRun reports whether a kill names a run that was started from inside the caller's.
func (d *Daemon) ownRun(c call, ask wire.DelegationKillCommand) (bool, error) {
	if ask.Orphans || ask.Handle == nil {
		return false, nil
	}
	record, known, err := d.runs.Record(*ask.Handle)
	return known && d.mayTouch(c, record.Parent), err
}

// handleDelegationExplain tells by what each process of a run is known to belong to it.
func (d *Daemon) handleDelegationExplain(ctx context.Context, c call, ask wire.DelegationHandle) (wire.DelegationEvidence, error) {
	record, known, err := d.runs.Record(ask.Handle)
	switch {
	case err != nil:
		return wire.DelegationEvidence{}, err
	case !known:
		return wire.DelegationEvidence{}, delegation.Unknown(ask.Handle)
	case !d.mayTouch(c, record.Parent) && ask.Handle != c.peer.Verdict.Run():
		return wire.DelegationEvidence{}, d.forbid(ctx, c.peer, wire.SubjectDelegationExplain)
	}
	evidence := wire.DelegationEvidence{Handle: ask.Handle, Processes: []wire.ProcessTied{}}
	ties, err := d.runs.Explain(ask.Handle)
	for _, e := range ties {
		tied := wire.ProcessTied{PID: uint32(e.PID), Name: strings.ToValidUTF8(e.Name, "\uFFFD"), How: string(e.How)}
		if e.Via.PID > 0 {
			via := uint32(e.Via.PID)
			tied.Via = &via
		}
		evidence.Processes = append(evidence.Processes, tied)
	}
	return evidence, err
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
