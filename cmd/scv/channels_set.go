package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"scv/wire"
	"scv/wire/bus"
)

type channelsSet struct {
	accountID
	Agent       *string `placeholder:"NAME" help:"Agent from config.toml; empty for the only one configured."`
	Workspace   *string `placeholder:"DIR" help:"Folder the agent works in; empty for the default."`
	RemoteTools string  `placeholder:"none|owner" help:"Who may have tools used through this account."`
	Senders     string  `placeholder:"owner|anyone" help:"Whose messages it answers."`
	Enable      bool    `xor:"enabled" help:"Turn it on."`
	Disable     bool    `xor:"enabled" help:"Turn it off."`
}

func (*channelsSet) example() string { return "scv channels set local:default --agent NAME" }

func (c *channelsSet) Run(a *app) error {
	set, err := c.request()
	if err != nil {
		return err
	}
	err = a.setAccount(set)
	switch refused := (*wire.Error)(nil); {
	case errors.As(err, &refused) && refused.Code == wire.ComponentError && c.Workspace != nil && !filepath.IsAbs(*c.Workspace):
		return failf(exitCode(err), fmt.Sprintf("%q was taken from the folder that you are in; a whole path begins with /", *c.Workspace), "%w", err)
	case err == nil && c.Agent != nil:
		a.warnOfAgent(*c.Agent)
	}
	return err
}

// request makes the one message that carries every change.
func (c *channelsSet) request() (wire.AccountSet, error) {
	var set wire.AccountSet
	var err error
	if set.Channel, set.Account, err = c.split("set"); err != nil {
		return set, err
	}
	set.Agent, set.Workspace = c.Agent, c.Workspace
	if c.Workspace != nil && *c.Workspace != "" {
		abs, err := filepath.Abs(*c.Workspace) // the daemon does not stand where we stand
		if err != nil {
			return set, fmt.Errorf("cannot make %q absolute: %w", *c.Workspace, err)
		}
		set.Workspace = &abs
	}
	if set.RemoteTools, err = choice("--remote-tools", c.RemoteTools, wire.ToolsNone, wire.ToolsOwner); err != nil {
		return set, err
	}
	if set.Senders, err = choice("--senders", c.Senders, wire.SendersOwner, wire.SendersAnyone); err != nil {
		return set, err
	}
	if c.Enable || c.Disable {
		set.Enabled = &c.Enable
	}
	if set == (wire.AccountSet{Channel: set.Channel, Account: set.Account}) {
		return set, failf(exitUsage, "try: "+c.example(), "nothing to change: give at least one setting")
	}
	return set, nil
}

// choice is a flag with a few possible words; not given is nil.
func choice[T ~string](flag, given string, words ...T) (*T, error) {
	if given == "" {
		return nil, nil
	}
	for _, word := range words {
		if given == string(word) {
			return &word, nil
		}
	}
	return nil, failf(exitUsage, "try: scv channels set --help", "%s must be one of %q, not %q", flag, words, given)
}

type channelsEnable struct{ accountID }

func (c *channelsEnable) Run(a *app) error { return a.setEnabled(c.accountID, "enable", true) }

type channelsDisable struct{ accountID }

func (c *channelsDisable) Run(a *app) error { return a.setEnabled(c.accountID, "disable", false) }

func (a *app) setEnabled(id accountID, verb string, on bool) error {
	channel, account, err := id.split(verb)
	if err != nil {
		return err
	}
	return a.setAccount(wire.AccountSet{Channel: channel, Account: account, Enabled: &on})
}

// setAccount sends the change and shows what the account is now.
func (a *app) setAccount(set wire.AccountSet) error {
	var now wire.AccountSettings
	err := a.call(changeLimit, func(ctx context.Context, client *bus.Client) (err error) {
		now, err = client.AccountSet(ctx, set)
		return err
	})
	if err != nil {
		return err
	}
	a.printComponents([]wire.ComponentHealth{now.Component})
	t := table{}
	t.row(cell{"agent", dim}, cell{orDefault(now.Agent, "the only one configured"), plain})
	t.row(cell{"workspace", dim}, cell{orDefault(now.Workspace, "the configured default"), plain})
	t.write(a.stdout, a.colour)
	return nil
}

func orDefault(s *string, otherwise string) string {
	if s == nil || *s == "" {
		return otherwise
	}
	return *s
}
