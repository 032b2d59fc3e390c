// Package notify decides which owner chat hears a thing, and which recorded run a caller speaks for.
// It is pure: it gets facts and gives a choice. Any room of the daemon that has a question, an outcome
// or an announcement for the owner may come in.
package notify

import (
	"slices"
	"strings"

	"scv/wire"
)

// Account is one enabled channel account.
type Account struct {
	ID        string // component id
	OwnerID   string // the owner's id on the platform, or "" when unknown
	OwnerChat string // the owner's direct chat, or "" when unknown
	Running   bool   // a message queued for it will be tried; false when it needs a person first
	Connected bool   // the platform can be reached right now
	Local     bool   // the local chat, where perhaps nobody sits
}

// owned reports whether there is somebody to ask there.
func (a Account) owned() bool { return a.OwnerID != "" && a.OwnerChat != "" }

// OriginChat is the chat that the caller's run answers. The zero value is none.
type OriginChat struct {
	Account    string // component id, "" for none
	OwnersChat bool   // that chat is the owner's direct one
}

// LastOwner is where an owner last wrote.
type LastOwner struct {
	Account  string // component id, "" for nowhere yet
	Terminal bool   // local: a person typed at a terminal
}

// Facts is all that the choice depends on.
type Facts struct {
	Origin   OriginChat
	Accounts []Account // the enabled ones
	Order    []string  // [notify] of config.toml; empty for no list
	Last     LastOwner
}

// Target is the chosen chat: always the owner's direct chat on an account.
type Target struct {
	Account string // component id
	Chat    string
	Owner   string
}

// Pick chooses the chat for a question. An origin is asked or refused, never redirected; without one,
// the list decides, without a list the last owner chat, then the only account there is. The local chat
// counts only where a person is expected to see it. A refusal is a *wire.Error.
func Pick(f Facts) (Target, error) {
	if f.Origin.Account != "" {
		return f.atOrigin()
	}
	if len(f.Order) > 0 {
		return f.byOrder()
	}
	if a, ok := f.connected(f.Last.Account); ok && (!a.Local || f.Last.Terminal || f.nothingElse()) {
		return target(a), nil
	}
	return f.theOnly()
}

// Elsewhere chooses the chat for a word about an account, which is never its own: the usual choice among the
// others, and rather any that is connected than none. The local chat counts by the same rule as in Pick.
func Elsewhere(f Facts, account string) (Target, error) {
	f.Origin = OriginChat{}
	f.Accounts = slices.DeleteFunc(slices.Clone(f.Accounts), func(a Account) bool { return a.ID == account })
	t, err := Pick(f)
	if err == nil {
		return t, nil
	}
	for _, a := range f.Accounts {
		if a.Connected && a.owned() && !a.Local {
			return target(a), nil
		}
	}
	return t, err
}

// atOrigin needs no connection: the message waits in the queue, and the question fails at its deadline.
func (f Facts) atOrigin() (Target, error) {
	i := slices.IndexFunc(f.Accounts, func(a Account) bool { return a.ID == f.Origin.Account })
	switch {
	case !f.Origin.OwnersChat:
		return refuse("this work was asked for in a chat of %s that is not its owner's direct chat, so nobody there may answer", f.Origin.Account)
	case i < 0 || !f.Accounts[i].Running:
		return refuse("this work was asked for in %s, which is not running: see scv status", f.Origin.Account)
	case !f.Accounts[i].owned():
		return refuse("this work was asked for in %s, whose owner is not known: see scv channels", f.Origin.Account)
	}
	return target(f.Accounts[i]), nil
}

func (f Facts) byOrder() (Target, error) {
	for _, id := range f.Order {
		if a, ok := f.connected(id); ok {
			return target(a), nil
		}
	}
	return refuse("none of the accounts in [notify] is connected (%s): see scv status", strings.Join(f.Order, ", "))
}

// builtIn is the account that every home has.
const builtIn = "local:default"

// theOnly never guesses between two chats.
func (f Facts) theOnly() (Target, error) {
	var found []Account
	unseen := 0 // local chats where perhaps nobody sits, while the owner has others
	for _, a := range f.Accounts {
		if _, ok := f.connected(a.ID); !ok {
			continue
		}
		if a.Local && !f.nothingElse() {
			unseen++
			continue
		}
		found = append(found, a)
	}
	if i := slices.IndexFunc(found, func(a Account) bool { return a.ID == builtIn }); i >= 0 && f.nothingElse() {
		return target(found[i]), nil // further local accounts do not make it a guess
	}
	switch len(found) {
	case 0:
		if unseen > 0 {
			return refuse("it is not clear which of several chats to ask in: name one in [notify] of config.toml, or write to the one you use")
		}
		return refuse("no connected account with a known owner could be asked: scv channels shows why")
	case 1:
		return target(found[0]), nil
	}
	return refuse("several accounts could be asked: name one in [notify] of config.toml, or write to the one you use")
}

// connected finds an account that can be asked right now.
func (f Facts) connected(id string) (Account, bool) {
	for _, a := range f.Accounts {
		if a.ID == id && a.Connected && a.owned() {
			return a, true
		}
	}
	return Account{}, false
}

// nothingElse reports whether the owner has no chat but local ones. An account that is only out of reach
// exists all the same: its owner looks there, not at a terminal.
func (f Facts) nothingElse() bool {
	other := func(a Account) bool { return !a.Local && a.OwnerID != "" }
	return !slices.ContainsFunc(f.Accounts, other)
}

func target(a Account) Target { return Target{Account: a.ID, Chat: a.OwnerChat, Owner: a.OwnerID} }

func refuse(format string, args ...any) (Target, error) {
	return Target{}, wire.Refuse(wire.ConfirmError, format, args...)
}
