package main

import (
	"context"
	"fmt"

	"scv/wire"
	"scv/wire/bus"
)

type delegationCmds struct {
	List delegationList `cmd:"" default:"withargs" help:"List running agent runs."`
	Kill delegationKill `cmd:"" help:"Stop one run, or every orphaned one."`
}

type delegationList struct {
	All  bool `help:"Also orphans that await clean-up."`
	JSON bool `help:"Print the daemon's own answer (DelegationSummary)."`
}

func (c *delegationList) Run(a *app) error {
	var status wire.DaemonStatus
	err := a.call(readLimit, func(ctx context.Context, client *bus.Client) (err error) {
		status, err = client.Control(ctx, wire.DelegationsCommand{All: c.All})
		return err
	})
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(status.Delegations)
	}
	a.printDelegations(status.Delegations)
	return nil
}

func (a *app) printDelegations(d wire.DelegationSummary) {
	if len(d.Entries) == 0 {
		a.say("no agent is running")
		return
	}
	t := table{}
	t.head("HANDLE", "AGENT", "STATE", "AGE", "DEPTH", "PID", "PROCESSES", "SESSION", "FOLDER")
	for _, e := range d.Entries {
		state, look := runState(e)
		t.row(cell{e.Handle, plain}, cell{e.Agent, plain}, cell{state, look},
			cell{roughly(a.now().Sub(unixTime(e.StartedUnixSeconds))), plain}, count(e.Depth), count(e.PID),
			count(e.Processes), cell{e.Session, plain}, cell{e.Cwd, plain})
	}
	t.write(a.stdout, a.colour)
}

func count(n uint32) cell { return cell{fmt.Sprint(n), plain} }

func runState(e wire.DelegationInfo) (string, style) {
	switch {
	case e.Orphaned:
		return "orphaned", bad
	case e.BackgroundJobs != nil && *e.BackgroundJobs > 0:
		return fmt.Sprintf("%d background jobs", *e.BackgroundJobs), good
	case e.IdleSinceUnixSeconds != nil:
		return "idle", dim
	}
	return "working", good
}
