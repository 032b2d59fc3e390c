package delegation

import (
	"maps"

	"scv/daemon/caller"
	"scv/daemon/process"
	"scv/internal/clock"
	"scv/store"
	"scv/wire"
)

// Summary counts the runs. Idle are the live agents between turns for whom nothing runs in the background.
func (k *Keeper) Summary() (wire.DelegationSummary, error) {
	rows, err := k.rows()
	if err != nil {
		return wire.DelegationSummary{}, err
	}
	s, _ := k.count(rows)
	return s, nil
}

// count counts runs, and returns those that are orphans at this moment.
func (k *Keeper) count(rows []store.DelegationRow) (wire.DelegationSummary, map[string]clock.Stamp) {
	k.mu.Lock()
	defer k.mu.Unlock()
	idle := uint64(0)
	s := wire.DelegationSummary{Idle: &idle, Reaped: k.reaped}
	for _, row := range rows {
		if _, lost := k.lost[row.Handle]; lost {
			continue
		}
		s.Active++
		if d := row.Delegation; resting(d) && d.BackgroundJobs == 0 {
			idle++
		}
	}
	return s, maps.Clone(k.lost)
}

// List is Summary with the entries; all adds orphans that wait to be stopped. It looks afresh.
func (k *Keeper) List(all bool) (wire.DelegationSummary, error) {
	rows, err := k.rows()
	if err != nil {
		return wire.DelegationSummary{}, err
	}
	s, lost := k.count(rows)
	_, runs, err := k.look(rows)
	if err != nil {
		return s, err
	}
	for _, run := range runs {
		_, orphaned := lost[run.Handle]
		if orphaned && !all {
			continue
		}
		s.Entries = append(s.Entries, entry(run.DelegationRow, len(run.ties), orphaned))
	}
	return s, nil
}

// resting reports whether a run is that of a live agent between turns.
func resting(d store.Delegation) bool { return d.State == store.RunLive && !d.IdleSince.Zero() }

func entry(row store.DelegationRow, processes int, orphaned bool) wire.DelegationInfo {
	d := row.Delegation
	info := wire.DelegationInfo{
		Handle: row.Handle, Agent: d.Agent, Session: d.Session, Depth: d.Depth,
		PID: uint32(d.Leader.PID), OwnerPID: uint32(d.Owner.PID), Processes: uint32(processes),
		Cwd: d.Cwd, StartedUnixSeconds: d.Started.UnixSeconds(), Orphaned: orphaned,
	}
	if d.Conversation != "" {
		info.Conversation = &d.Conversation
	}
	if d.Turn > 0 && !d.Background {
		info.Turn = &d.Turn
	}
	if resting(d) {
		since := d.IdleSince.UnixSeconds()
		info.IdleSinceUnixSeconds = &since
	}
	if d.BackgroundJobs > 0 {
		info.BackgroundJobs = &d.BackgroundJobs
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
		if owner := process.ID(d.Owner); owner.Boot == k.o.Self.Boot && !owner.Is(k.o.Self) {
			run.Owner = caller.Tie{PID: owner.PID, Start: owner.Start}
		}
		run.Cgroup = k.traced(row.Handle, d).Cgroup.Inode
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
