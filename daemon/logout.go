package daemon

import (
	"context"
	"fmt"

	"scv/daemon/confirm"
	"scv/store"
	"scv/wire"
)

// forgetChunk is how many records of an account one transaction removes.
const forgetChunk = 500

// handleChannelLogout removes an account in steps that a crash cannot turn around: first it is on
// record as off, ungranted and leaving; then it is stopped; then what it has is deleted, its settings
// last, since missing settings could be made anew.
func (d *Daemon) handleChannelLogout(ctx context.Context, c call, command wire.Command) (wire.DaemonStatus, error) {
	ask := command.(wire.ChannelLogoutCommand)
	id, err := checkNames(ask.Channel, ask.Account)
	if err != nil {
		return wire.DaemonStatus{}, err
	}
	if id == defaultLocal {
		return wire.DaemonStatus{}, wire.Refuse(wire.ComponentError,
			"%s is built in and cannot be logged out: disable it with scv channels disable %s", id, id)
	}
	err = d.store.Intend(ctx, func(tx *store.Intent) error {
		a, known := tx.Account(id)
		if !known {
			return wire.Refuse(wire.ComponentError, "no account %q: scv channels lists those there are", id)
		}
		a.Enabled, a.RemoteTools, a.Senders, a.LoggingOut = false, wire.ToolsNone, wire.SendersOwner, true
		if err := tx.AddJournal("logged_out", c.who(), id, nil); err != nil {
			return err
		}
		return tx.PutAccount(id, a)
	})
	if err != nil {
		return wire.DaemonStatus{}, err
	}
	if err := d.accounts.Quiesce(ctx, id); err != nil {
		return wire.DaemonStatus{}, fmt.Errorf("cannot stop %q: %w", id, err)
	}
	if err := d.forgetAccount(ctx, id); err != nil {
		return wire.DaemonStatus{}, err
	}
	if err := d.accounts.Sync(ctx); err != nil {
		return wire.DaemonStatus{}, err
	}
	return d.status()
}

// forgetAccount withdraws what a stopped account asks and deletes what it has, what it signs in with first and its
// settings last: settings alone cannot run, and what signs in is adopted afresh. It may be begun again at any point.
func (d *Daemon) forgetAccount(ctx context.Context, id string) error {
	if err := d.questions.withdrawAll(ctx, id); err != nil {
		return err
	}
	if err := d.forgetSignIn(id); err != nil {
		return err
	}
	for more := true; more; {
		err := d.store.Deliver(ctx, func(tx *store.Delivery) (err error) {
			more, err = tx.ForgetAccount(id, forgetChunk)
			return err
		})
		if err != nil {
			return fmt.Errorf("cannot forget the messages of %q: %w", id, err)
		}
	}
	if err := d.media.Forget(id); err != nil {
		return err
	}
	d.locals.Delete(id)
	err := d.store.Intend(ctx, func(tx *store.Intent) error { return tx.DeleteAccount(id) })
	if err != nil {
		return fmt.Errorf("cannot forget the settings of %q: %w", id, err)
	}
	return nil
}

// withdrawAll ends the open questions of an account that leaves: nobody could answer them any more, and whoever
// signs in next has not been asked. A chat has few of them, so it is one commit.
func (q *questions) withdrawAll(ctx context.Context, account string) error {
	err := q.d.store.Deliver(ctx, func(tx *store.Delivery) error {
		now := q.d.clock.Now()
		for _, c := range tx.OpenConfirms() {
			if c.Account != account {
				continue
			}
			after, line := confirm.Question(c).Withdraw(now)
			if err := q.put(tx, c.State, after, line); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot withdraw the questions of %q: %w", account, err)
	}
	return nil
}
