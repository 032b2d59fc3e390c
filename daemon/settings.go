package daemon

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"scv/daemon/channel"
	"scv/daemon/config"
	"scv/store"
	"scv/wire"
)

// change applies what was asked for to an account's settings and says what of its authority changed,
// "" for nothing. A refusal is a *wire.Error. It is pure but for one look at the workspace.
func change(id string, a store.Account, ask wire.AccountSet, agents []string) (store.Account, string, error) {
	var authority []string
	if ask.Enabled != nil {
		a.Enabled = *ask.Enabled
	}
	switch {
	case ask.Workspace == nil:
	case *ask.Workspace == "": // back to the default
		a.Workspace = ""
	default:
		if err := config.CheckFolder(*ask.Workspace); err != nil {
			return a, "", wire.Refuse(wire.ComponentError, "%v", err)
		}
		path, err := filepath.EvalSymlinks(*ask.Workspace)
		if err != nil { // it went away just now
			return a, "", wire.Refuse(wire.ComponentError, "the workspace %q cannot be found: %v", *ask.Workspace, err)
		}
		a.Workspace = path
	}
	if ask.RemoteTools != nil && *ask.RemoteTools != a.RemoteTools {
		a.RemoteTools = *ask.RemoteTools
		authority = append(authority, fmt.Sprintf("remote_tools is now %q", a.RemoteTools))
	}
	if ask.Senders != nil && *ask.Senders != a.Senders {
		a.Senders = *ask.Senders
		authority = append(authority, fmt.Sprintf("senders is now %q", a.Senders))
	}
	if ask.Agent != nil {
		if *ask.Agent != "" && !slices.Contains(agents, *ask.Agent) {
			return a, "", unknownAgent(*ask.Agent, agents)
		}
		a.Agent = *ask.Agent
	}
	if len(authority) == 0 {
		return a, "", nil
	}
	return a, "The settings of " + id + " were changed: " + strings.Join(authority, ", ") +
		". If that was not you, run scv channels list and look who uses this machine.", nil
}

func unknownAgent(name string, agents []string) error {
	if len(agents) == 0 {
		return wire.Refuse(wire.ComponentError, "no agent %q: config.toml has none yet; scv agents shows how to add one", name)
	}
	return wire.Refuse(wire.ComponentError, "no agent %q: config.toml has %s", name, strings.Join(agents, ", "))
}

// checkNames refuses a channel or an account that cannot be.
func checkNames(channelName, account string) (id string, err error) {
	if !config.ValidName(channelName) || !config.ValidName(account) {
		return "", wire.Refuse(wire.ComponentError, "no account %q:%q: names have 1 to 64 letters, digits, - and _", channelName, account)
	}
	return channelName + ":" + account, nil
}

// set changes one account in one transaction, tells the owner what of its authority changed, and
// returns when the accounts follow.
func (d *Daemon) set(ctx context.Context, c call, ask wire.AccountSet) (store.Account, error) {
	id, err := checkNames(ask.Channel, ask.Account)
	if err != nil {
		return store.Account{}, err
	}
	agents := d.agents.Load().Names()
	_, damaged := d.damagedAccounts()[id]
	made, can := d.newAccount(ask, c)
	var after store.Account
	err = d.store.Intend(ctx, func(tx *store.Intent) error {
		before, known := tx.Account(id)
		if !known && !can {
			return wire.Refuse(wire.ComponentError, "no account %q: scv channels lists those there are", id)
		}
		if before.LoggingOut {
			return wire.Refuse(wire.ComponentError, "account %q is being logged out: try again in a moment", id)
		}
		if !known {
			before = made
		}
		var told string
		if after, told, err = change(id, before, ask, agents); err != nil {
			return err
		}
		after.Announce = strings.TrimSpace(after.Announce + "\n" + told)
		if damaged {
			if err := dropDamaged(tx, id); err != nil {
				return err
			}
		}
		if err := tx.AddJournal("settings_changed", c.who(), id, nil); err != nil {
			return err
		}
		return tx.PutAccount(id, after)
	})
	if err != nil {
		return after, err
	}
	if err := d.announceAuthority(ctx); err != nil {
		d.log.Error("cannot announce a change of authority; the next start does", "account", id, "err", err)
	}
	return after, d.accounts.Sync(ctx)
}

// newAccount is an account that has no settings yet, if there may be one: a local one by the seed's own verb,
// and any other once it is signed in.
func (d *Daemon) newAccount(ask wire.AccountSet, c call) (a store.Account, can bool) {
	if ask.Channel == "local" {
		return newLocal(wire.ToolsNone), c.creates
	}
	signed := d.signIns()
	d.markTwins(signed) // settings alone make nobody the bot that another account is
	s, found := signed[ask.Channel+":"+ask.Account]
	if !found {
		return store.Account{}, false
	}
	return bind(newRemote(), s), true
}

// who names the caller for the journal, and the runs that it is in, the outermost first.
func (c call) who() string {
	who := fmt.Sprintf("peer %d", c.peer.PID)
	if runs := c.peer.Verdict.Handles; len(runs) > 0 {
		who += " in " + strings.Join(runs, " in ")
	}
	return who
}

// announceAuthority tells owners of changes that are committed and not yet told. The text is removed
// after it is queued: a crash between tells it twice rather than never.
func (d *Daemon) announceAuthority(ctx context.Context) error {
	for _, row := range d.accountRows() {
		text := row.Account.Announce
		if text == "" {
			continue
		}
		if err := d.notice(ctx, row.ID, row.Account, text); err != nil {
			return err
		}
		err := d.store.Intend(ctx, func(tx *store.Intent) error {
			a, known := tx.Account(row.ID)
			if !known {
				return nil
			}
			a.Announce = strings.TrimSpace(strings.TrimPrefix(a.Announce, text))
			return tx.PutAccount(row.ID, a)
		})
		if err != nil {
			return fmt.Errorf("cannot note an announcement of %q: %w", row.ID, err)
		}
	}
	return nil
}

// notice queues the program's own words for an account's owner, if there is one.
func (d *Daemon) notice(ctx context.Context, id string, a store.Account, text string) error {
	chat := ownerChat(id, a)
	if chat == "" {
		return nil
	}
	err := d.store.Deliver(ctx, func(tx *store.Delivery) error {
		_, err := tx.AddOutbound(id, store.Outbound{
			Kind: string(channel.Notice), Chat: chat, Text: text, ClientID: "n" + newID(), Queued: d.clock.Now(),
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot queue a notice for %q: %w", id, err)
	}
	d.wake()
	return nil
}
