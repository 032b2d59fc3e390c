package daemon

import (
	"context"

	"scv/daemon/config"
	"scv/daemon/delegation"
	"scv/daemon/process"
	"scv/daemon/turn"
	"scv/store"
	"scv/wire"
)

// This file is the daemon's side of scv delegate in the foreground: its process owns the run, and the daemon
// keeps the record.

// handleDelegationRegister puts a run on record, first without and then with its process. What the run may
// do comes from who the caller is, never from what it says.
func (d *Daemon) handleDelegationRegister(ctx context.Context, c call, ask wire.DelegationRegister) (wire.DelegationLease, error) {
	if err := d.checkRegister(ask); err != nil {
		return wire.DelegationLease{}, err
	}
	about, err := d.placeOf(c)
	if err != nil {
		return wire.DelegationLease{}, err
	}
	about.Agent, about.Cwd, about.Session = ask.Agent, ask.Cwd, sessionOf(ask)
	about.Account, about.Memory = defaultLocal, memoryOf(ask.Conversation)
	owner := d.processOf(c)
	if err := d.runs.Register(ctx, owner, ask.Handle, about); err != nil {
		return wire.DelegationLease{}, err
	}
	if ask.PID != nil {
		if err := d.runs.Attach(ctx, owner, ask.Handle, int(*ask.PID)); err != nil {
			return wire.DelegationLease{}, err
		}
	}
	return d.lease(ask.Handle, about), nil
}

func (d *Daemon) checkRegister(ask wire.DelegationRegister) error {
	if !delegation.IsHandle(ask.Handle, ask.Agent) {
		return wire.Refuse(wire.InvalidRequest, "a handle is the agent's name, a dash and six hex digits")
	}
	if err := config.CheckFolder(ask.Cwd); err != nil {
		return wire.Refuse(wire.DelegationError, "%v", err)
	}
	return checkConversation(ask.Conversation)
}

// sessionOf names the session of a run that answers no chat.
func sessionOf(ask wire.DelegationRegister) string {
	if ask.Conversation != nil {
		return "delegate-" + *ask.Conversation
	}
	return "delegate"
}

func (d *Daemon) lease(handle string, about store.Delegation) wire.DelegationLease {
	env := d.runs.Environment(handle, about)
	lease := wire.DelegationLease{Parent: env["SCV_PARENT"], Depth: about.Depth, Tools: about.Tools}
	err := d.store.View(func(v *store.View) error {
		c, known := v.Conversation(about.Account, about.Memory)
		if known && about.Memory != "" && turn.GoesOn(c, about.Agent, turn.SessionFolder(about.Tools, about.Cwd)) && c.Session != "" {
			lease.AgentSession = &c.Session
		}
		return nil
	})
	if err != nil {
		d.log.Error("cannot read a conversation, so it begins anew", "handle", handle, "err", err)
	}
	return lease
}

// processOf is the process that the daemon saw at the other end of the connection.
func (d *Daemon) processOf(c call) process.ID {
	return process.ID{PID: c.peer.PID, Start: c.peer.Start, Boot: d.self.Boot}
}

// handleDelegationUpdate ends the record of a run, once nothing is left of it, and keeps its report.
func (d *Daemon) handleDelegationUpdate(ctx context.Context, c call, ask wire.DelegationUpdate) (report wire.DelegationReport, err error) {
	if ask.Outcome == wire.RunRunning {
		return report, wire.Refuse(wire.InvalidRequest, "a run is updated when it has ended")
	}
	record, err := d.runs.Released(ctx, d.processOf(c), ask.Handle)
	if err != nil {
		return report, err
	}
	err = d.store.Deliver(ctx, func(tx *store.Delivery) error {
		if err := d.keepMemory(tx, record, ask.AgentSession); err != nil {
			return err
		}
		err := tx.PutReport(ask.Handle, store.RunReport{
			Agent: record.Agent, Parent: record.Parent, Outcome: ask.Outcome, Ended: d.clock.Now(),
			Text: "Who started it has the answer.",
		})
		report, _, _ = reportOf(&tx.View, ask.Handle)
		return err
	})
	if err != nil {
		return report, err
	}
	if err := d.runs.Reported(ctx, ask.Handle); err != nil {
		d.log.Error("cannot close a run's record; a later pass does", "handle", ask.Handle, "err", err)
	}
	d.publishReport(ask.Handle, ask.Outcome)
	return report, nil
}

// keepMemory keeps the agent's own session of a named conversation for its next run.
func (d *Daemon) keepMemory(tx *store.Delivery, record store.Delegation, session *string) error {
	if record.Memory == "" {
		return nil
	}
	c, _ := tx.Conversation(record.Account, record.Memory)
	where := turn.SessionFolder(record.Tools, record.Cwd)
	if !turn.GoesOn(c, record.Agent, where) {
		c.Session = ""
	}
	if session != nil {
		c.Session = *session
	}
	c.Agent, c.Folder, c.Turns, c.LastUse = record.Agent, where, c.Turns+1, d.clock.Now()
	return tx.PutConversation(record.Account, record.Memory, c)
}

// publishReport tells whoever waits that there is a report to ask for. Anybody may hear that, so it has no text.
func (d *Daemon) publishReport(handle string, outcome wire.DelegationOutcome) {
	d.publishEvent(wire.EventRun+handle, wire.DelegationReport{Handle: handle, Outcome: outcome})
}
