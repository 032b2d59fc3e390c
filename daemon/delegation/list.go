package delegation

import (
	"scv/daemon/caller"
	"scv/store"
	"scv/wire"
)

// Summary counts the runs. None of this daemon's agents is live between turns, so idle is 0, and said.
func (k *Keeper) Summary() (wire.DelegationSummary, error) {
	rows, err := k.rows()
	if err != nil {
		return wire.DelegationSummary{}, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	idle := uint64(0)
	s := wire.DelegationSummary{Idle: &idle, Reaped: k.reaped}
	for _, row := range rows {
		if _, lost := k.lost[row.Handle]; !lost {
			s.Active++
		}
	}
	return s, nil
}

// List is Summary with the entries; all adds orphans that wait to be stopped. It looks afresh.
func (k *Keeper) List(all bool) (wire.DelegationSummary, error) {
	s, err := k.Summary()
	if err != nil {
		return s, err
	}
	rows, err := k.rows()
	if err != nil {
		return s, err
	}
	view, err := k.o.Procs.Scan()
	if err != nil {
		return s, err
	}
	for _, row := range rows {
		lost := k.isLost(row.Handle)
		if lost && !all {
			continue
		}
		s.Entries = append(s.Entries, entry(row, len(k.ties(view, row)), lost))
	}
	return s, nil
}

func entry(row store.DelegationRow, processes int, orphaned bool) wire.DelegationInfo {
	d := row.Delegation
	info := wire.DelegationInfo{
		Handle: row.Handle, Agent: d.Agent, Session: d.Session, Depth: d.Depth,
		PID: uint32(d.Leader.PID), OwnerPID: uint32(d.Owner.PID), Processes: uint32(processes),
		Cwd: d.Cwd, StartedUnixSeconds: d.Started.UnixSeconds(), Orphaned: orphaned,
	}
	if d.Conversation != "" {
		info.Conversation, info.Turn = &d.Conversation, &d.Turn
	}
	return info
}

// Known is what caller needs to tell whether a peer is inside a run.
func (k *Keeper) Known() (caller.Known, error) {
	rows, err := k.rows()
	known := caller.Known{Instance: k.o.Instance, DaemonPID: k.o.Self.PID}
	for _, row := range rows {
		d := row.Delegation
		run := caller.Run{Handle: row.Handle}
		if d.Leader.Boot == k.o.Self.Boot {
			run.Leader, run.PGID = caller.Tie{PID: d.Leader.PID, Start: d.Leader.Start}, d.Leader.PID
		}
		for _, id := range d.Ties {
			if id.Boot == k.o.Self.Boot {
				run.Ties = append(run.Ties, caller.Tie{PID: id.PID, Start: id.Start})
			}
		}
		known.Runs = append(known.Runs, run)
	}
	return known, err
}

// Record is the record of a run.
func (k *Keeper) Record(handle string) (d store.Delegation, known bool, err error) {
	err = k.o.Store.View(func(v *store.View) error {
		d, known = v.Delegation(handle)
		return nil
	})
	return d, known, err
}
