package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"scv/daemon/channel"
	"scv/daemon/credential"
	"scv/daemon/reconcile"
	"scv/store"
	"scv/wire"
)

// This file makes accounts of what people signed in with. Credentials are files that the hand writes, with
// or without a daemon; settings are in the store. An account has both, and the store remembers whose
// credentials all of its state belongs to.

// adoptTime bounds the commit by which a new account gets its settings: a pass waits for it.
const adoptTime = 2 * time.Second

// signIn is what an account signs in with, or why that is no use.
type signIn struct {
	credentials credentials
	problem     string // one sentence, "" for none
}

// signIns reads all saved credentials, by account.
func (d *Daemon) signIns() map[string]signIn {
	all := map[string]signIn{}
	folder := credential.In(d.home.Path)
	for _, r := range remotes {
		names, err := folder.Accounts(r.channel)
		if err != nil {
			d.log.Error("no account of the channel can run", "channel", r.channel, "err", err)
		}
		for _, name := range names {
			if s, found := r.readSignIn(folder, name); found {
				all[r.channel+":"+name] = s
			}
		}
	}
	return all
}

func (r remote) readSignIn(folder credential.Folder, name string) (s signIn, found bool) {
	saved, err := folder.Load(r.channel, name)
	if err == nil {
		s.credentials, err = r.parse(saved)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return s, false
	}
	if err != nil {
		s.problem = fmt.Sprintf("%v; or sign in again: %s", err, channel.Account{Channel: r.channel, Name: name}.SignInCommand())
	}
	return s, true
}

// markTwins finds accounts that are signed in as the same bot under two names, for one owner or two: each message
// would be answered by both, or by either. The one that has been it stays, else the first by name.
func (d *Daemon) markTwins(signed map[string]signIn) {
	if len(signed) < 2 {
		return // and most passes need no look at the settings for it
	}
	holder := map[string]string{} // of an identity, and of a bot
	hold := func(what, id string) (first string) {
		if what != "" && holder[what] == "" {
			holder[what] = id
		}
		return holder[what]
	}
	for _, row := range d.accountRows() {
		s, there := signed[row.ID]
		binding := row.Account.Binding
		if !there || row.Account.LoggingOut || hold(binding, row.ID) != row.ID {
			continue
		}
		if s.problem == "" && s.credentials.Identity() == binding {
			hold(bot(row.ID, s), row.ID)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(signed)) {
		s := signed[id]
		if s.problem != "" {
			continue
		}
		first := hold(bot(id, s), id)
		if first == "" || first == id {
			first = hold(s.credentials.Identity(), id)
		}
		if first != id {
			s.problem = "it is the same bot as " + first + ", which would answer everything too: scv channels logout " + id
			signed[id] = s
		}
	}
}

// bot names the bot of an account among those of all platforms, "" where the platform gives it no id.
func bot(id string, s signIn) string {
	if s.credentials.Bot() == "" {
		return ""
	}
	platform, _, _ := strings.Cut(id, ":")
	return platform + ":" + s.credentials.Bot()
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
		told.Announce = strings.TrimSpace(told.Announce + "\nThe account " + id + " was signed in (" + s.credentials.Bot() +
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
		a.Binding, a.OwnerID = s.credentials.Identity(), s.credentials.Owner()
	}
	return a
}

// desireRemote completes what is wanted of an account that is signed in.
func (d *Daemon) desireRemote(r remote, want *reconcile.Desired, row store.AccountRow, signed map[string]signIn) {
	s, found := signed[row.ID]
	switch {
	case !found:
		want.Broken = "it is not signed in: " + want.Account.SignInCommand()
	case s.problem != "":
		want.Broken = s.problem
	case row.Account.Binding != s.credentials.Identity():
		want.Broken = "it was signed in as another bot or owner than before: scv channels logout " + row.ID + ", and sign in again"
	case want.Broken == "":
		want.BotID = s.credentials.Bot()
		want.Credentials = s.credentials.Fingerprint() + r.standIn(d.config.Load())
	}
}

// makeRemote builds the adapter of one attempt from what is saved now, if that is still what was wanted.
func (d *Daemon) makeRemote(r remote, want reconcile.Desired, host channel.Host) (channel.Adapter, error) {
	s, found := r.readSignIn(credential.In(d.home.Path), want.Account.Name)
	standIn := r.standIn(d.config.Load())
	if !found || s.problem != "" || s.credentials.Fingerprint()+standIn != want.Credentials {
		return nil, errors.New("the credentials have just changed") // the next pass looks again
	}
	a, err := r.adapter(d, want.Account, s.credentials, host, standIn)
	if err != nil {
		return nil, channel.Permanent(r.channel + ".stand_in in config.toml cannot be used: " + err.Error())
	}
	return a, nil
}

// forgetSignIn removes an account's credentials for good.
func (d *Daemon) forgetSignIn(id string) error {
	channelName, name, _ := strings.Cut(id, ":")
	return credential.In(d.home.Path).Delete(channelName, name)
}
