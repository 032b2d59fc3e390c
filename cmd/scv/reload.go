package main

import (
	"context"

	"scv/wire"
	"scv/wire/bus"
)

type reloadCmd struct{}

func (c *reloadCmd) Run(a *app) error {
	var status wire.DaemonStatus
	err := a.call(changeLimit, func(ctx context.Context, client *bus.Client) (err error) {
		status, err = client.Control(ctx, wire.ReloadCommand{})
		return err
	})
	if err != nil {
		return err
	}
	a.say("reloaded")
	a.printComponents(status.Components)
	return nil
}
