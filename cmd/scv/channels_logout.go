package main

import (
	"context"

	"scv/wire"
	"scv/wire/bus"
)

type channelsLogout struct{ accountID }

func (c *channelsLogout) Run(a *app) error {
	channel, account, err := c.split("logout")
	if err != nil {
		return err
	}
	err = a.call(changeLimit, func(ctx context.Context, client *bus.Client) error {
		_, err := client.Control(ctx, wire.ChannelLogoutCommand{Channel: channel, Account: account})
		return err
	})
	if err != nil {
		return err
	}
	a.say("logged out %s; its credentials and state are gone", line(string(c.ID)))
	return nil
}
