package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"scv/daemon/channel"
	"scv/daemon/channel/feishu"
	"scv/daemon/credential"
	"scv/daemon/reconcile"
	"scv/store"
	"scv/wire"
)

// This file makes accounts of what people signed in with. Credentials are files that the hand writes, with
// or without a daemon; settings are in the store. An account has both, and the store remembers whose
// credentials all of its state belongs to.

// remote is the channel whose accounts are signed in.
const remote = "feishu"

// adoptTime bounds the commit by which a new account gets its settings: a pass waits for it.
const adoptTime = 2 * time.Second

// signIn is what an account signs in with, or why that is no use.
type signIn struct {
	credentials feishu.Credentials
	problem     string // one sentence, "" for none
}

// signIns reads all saved credentials, by account.
func (d *Daemon) signIns() map[string]signIn {
	all := map[string]signIn{}
	folder := credential.In(d.home.Path)
	names, err := folder.Accounts(remote)
	if err != nil {
		d.log.Error("no account of the channel can run", "channel", remote, "err", err)
	}
	for _, name := range names {
		if s, found := readSignIn(folder, name); found {
			all[remote+":"+name] = s
		}
	}
	return all
}

func readSignIn(folder credential.Folder, name string) (s signIn, found bool) {
	saved, err := folder.Load(remote, name)
	if err == nil {
		s.credentials, err = feishu.Parse(saved)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return s, false
	}
	if err != nil {
		s.problem = fmt.Sprintf("%v; or sign in again: %s", err, signInCommand(name))
	}
	return s, true
}

// signInCommand is how a person signs an account in.
func signInCommand(name string) string {
	command := "scv channels login " + remote
	if name != "default" {
		command += " --account " + name
	}
	return command
}

// adopt gives accounts that were signed in and have no settings theirs: on, without tools, for the owner
// alone. Settings that no credentials were bound to yet are bound to these.
func (d *Daemon) adopt(ctx context.Context, signed map[string]signIn) error {
	ctx, cancel := context.WithTimeout(ctx, adoptTime)
	defer cancel()
	broken := d.damagedAccounts()
	var waiting []string
	err := d.store.View(func(v *store.View) error {
		for id, s := range signed {
			a, known := v.Account(id)
			if _, damaged := broken[id]; !damaged && (!known || unbound(a, s)) {
				waiting = append(waiting, id)
			}
		}
		return nil
	})
	if err != nil || len(waiting) == 0 {
		return err
	}
	err = d.store.Intend(ctx, func(tx *store.Intent) error {
		for _, id := range waiting {
			if err := adoptOne(tx, id, signed[id]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return d.announceAuthority(ctx)
}

// adoptOne makes or binds one account. The owner's other chats hear of a new one: whoever owns an account is
// asked questions there.
func adoptOne(tx *store.Intent, id string, s signIn) error {
	a, known := tx.Account(id)
	switch {
	case known && unbound(a, s):
		return tx.PutAccount(id, bind(a, s))
	case known:
		return nil
	}
	for _, other := range tx.Accounts() {
		told := other.Account
		told.Announce = strings.TrimSpace(told.Announce + "\nThe account " + id + " was signed in (" + s.credentials.AppID +
			"). If that was not you, run scv channels logout " + id + " and look who uses this machine.")
		if err := tx.PutAccount(other.ID, told); err != nil {
			return err
		}
	}
	if err := tx.AddJournal("signed_in", "daemon", id, nil); err != nil {
		return err
	}
	return tx.PutAccount(id, bind(newRemote(), s))
}

func newRemote() store.Account {
	return store.Account{Enabled: true, RemoteTools: wire.ToolsNone, Senders: wire.SendersOwner}
}

func unbound(a store.Account, s signIn) bool {
	return a.Binding == "" && !a.LoggingOut && s.problem == ""
}

// bind ties an account's state to credentials, and takes the owner from them: nobody else vouches for one.
func bind(a store.Account, s signIn) store.Account {
	if s.problem == "" {
		a.Binding, a.OwnerID = s.credentials.Identity(), s.credentials.OwnerOpenID
	}
	return a
}

// desireRemote completes what is wanted of an account that is signed in.
func (d *Daemon) desireRemote(want *reconcile.Desired, row store.AccountRow, signed map[string]signIn) {
	s, found := signed[row.ID]
	switch {
	case !found:
		want.Broken = "it is not signed in: " + signInCommand(want.Account.Name)
	case s.problem != "":
		want.Broken = s.problem
	case row.Account.Binding != s.credentials.Identity():
		want.Broken = "it was signed in as another app or owner than before: scv channels logout " + row.ID + ", and sign in again"
	case want.Broken == "":
		want.BotID = s.credentials.AppID
		want.Credentials = s.credentials.Fingerprint() + d.config.Load().Feishu.StandIn
	}
}

// makeFeishu builds the adapter of one attempt from what is saved now, if that is still what was wanted.
func (d *Daemon) makeFeishu(want reconcile.Desired, host channel.Host) (channel.Adapter, error) {
	s, found := readSignIn(credential.In(d.home.Path), want.Account.Name)
	standIn := d.config.Load().Feishu.StandIn
	if !found || s.problem != "" || s.credentials.Fingerprint()+standIn != want.Credentials {
		return nil, errors.New("the credentials have just changed") // the next pass looks again
	}
	platform := feishu.Public(s.credentials.Brand)
	if standIn != "" {
		var err error
		if platform, err = feishu.StandIn(standIn, s.credentials.Brand); err != nil {
			return nil, channel.Permanent("feishu.stand_in in config.toml cannot be used: " + err.Error())
		}
	}
	return feishu.New(feishu.Options{
		Account: want.Account, Credentials: s.credentials, Host: host, Log: d.log, HTTP: d.web, Platform: platform,
	}), nil
}

// forgetSignIn removes an account's credentials for good.
func (d *Daemon) forgetSignIn(id string) error {
	channelName, name, _ := strings.Cut(id, ":")
	return credential.In(d.home.Path).Delete(channelName, name)
}
