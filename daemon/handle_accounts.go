package daemon

import (
	"context"

	"scv/wire"
)

// handleChannelSet is the seed's way to change an account: enabled always, the rest where given.
func (d *Daemon) handleChannelSet(ctx context.Context, c call, command wire.Command) (wire.DaemonStatus, error) {
	ask := command.(wire.ChannelSetCommand)
	c.creates = true
	_, err := d.set(ctx, c, wire.AccountSet{
		Channel: ask.Channel, Account: ask.Account, Enabled: &ask.Enabled,
		Workspace: ask.Workspace, RemoteTools: ask.RemoteTools, Senders: ask.Senders,
	})
	if err != nil {
		return wire.DaemonStatus{}, err
	}
	return d.status()
}

// handleAccountSet changes any of an account's settings, its agent too.
func (d *Daemon) handleAccountSet(ctx context.Context, c call, ask wire.AccountSet) (wire.AccountSettings, error) {
	after, err := d.set(ctx, c, ask)
	if err != nil {
		return wire.AccountSettings{}, err
	}
	var reply wire.AccountSettings
	for _, h := range d.accounts.Health() {
		if h.ID == ask.Channel+":"+ask.Account {
			reply.Component = h
		}
	}
	if after.Workspace != "" {
		reply.Workspace = &after.Workspace
	}
	if after.Agent != "" {
		reply.Agent = &after.Agent
	}
	return reply, nil
}
