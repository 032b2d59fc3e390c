package main

import (
	"context"
	"strings"

	"scv/wire"
	"scv/wire/bus"
)

type channelsCmds struct {
	List    channelsList    `cmd:"" default:"withargs" help:"List the chat accounts."`
	Login   channelsLogin   `cmd:"" help:"Sign in to a chat platform by scanning a code."`
	Set     channelsSet     `cmd:"" help:"Change settings of one account."`
	Enable  channelsEnable  `cmd:"" help:"Turn one account on."`
	Disable channelsDisable `cmd:"" help:"Turn one account off."`
	Logout  channelsLogout  `cmd:"" help:"Stop one account and remove its credentials and state."`
}

func (*channelsCmds) Help() string { return listsAlone("channels") }

type channelsList struct {
	JSON bool `help:"Print an array of ComponentHealth."`
}

func (c *channelsList) Run(a *app) error {
	var status wire.DaemonStatus
	err := a.call(readLimit, func(ctx context.Context, client *bus.Client) (err error) {
		status, err = client.Control(ctx, wire.StatusCommand{})
		return err
	})
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(status.Components)
	}
	a.printComponents(status.Components)
	return nil
}

// accountID is the argument <channel>:<account>.
type accountID struct {
	ID literal `arg:"" help:"The account as <channel>:<account>, such as local:default."`
}

// split takes the id apart. Whether such an account exists is for the daemon to say.
func (id accountID) split(verb string) (channel, account string, err error) {
	channel, account, found := strings.Cut(string(id.ID), ":")
	if !found || channel == "" || account == "" {
		return "", "", failf(exitUsage, "try: scv channels "+verb+" local:default",
			"%q is not an account: give <channel>:<account>", string(id.ID))
	}
	return channel, account, nil
}
