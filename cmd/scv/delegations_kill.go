package main

import (
	"context"

	"scv/wire"
	"scv/wire/bus"
)

type delegationKill struct {
	Handle  literal `arg:"" optional:"" help:"The run to stop, as scv delegations names it."`
	Orphans bool    `help:"Stop every orphaned run instead."`
}

func (*delegationKill) example() string {
	return "scv delegations kill HANDLE, or scv delegations kill --orphans"
}

func (c *delegationKill) Run(a *app) error {
	kill := wire.DelegationKillCommand{Orphans: c.Orphans}
	switch handle := string(c.Handle); {
	case (handle == "") == !c.Orphans:
		return failf(exitUsage, "try: "+c.example(),
			"give either a handle or --orphans")
	case handle != "":
		kill.Handle = &handle
	}
	var status wire.DaemonStatus
	err := a.call(changeLimit, func(ctx context.Context, client *bus.Client) (err error) {
		status, err = client.Control(ctx, kill)
		return err
	})
	if err != nil {
		return err
	}
	if len(status.Delegations.Killed) == 0 {
		a.say("nothing to stop")
	}
	for _, handle := range status.Delegations.Killed {
		a.say("stopped %s", line(handle))
	}
	return nil
}
