package daemon

import (
	"strings"
	"sync"

	"scv/daemon/channel/local"
	"scv/daemon/notify"
	"scv/store"
	"scv/wire"
)

// notifyFacts is what the choice of an owner chat depends on, as it is now.
func (d *Daemon) notifyFacts() notify.Facts {
	states := map[string]wire.ComponentState{}
	for _, h := range d.accounts.Health() {
		states[h.ID] = h.State
	}
	facts := notify.Facts{Order: d.config.Load().Notify.Owner}
	err := d.store.View(func(v *store.View) error {
		for _, row := range v.Accounts() {
			if row.Account.Enabled && !row.Account.LoggingOut {
				facts.Accounts = append(facts.Accounts, notifyAccount(row, states[row.ID]))
			}
		}
		if last, known := v.LastOwner(); known {
			facts.Last = notify.LastOwner{Account: last.Account, Terminal: last.Terminal}
		}
		return nil
	})
	if err != nil {
		d.log.Error("cannot read the accounts", "err", err)
	}
	return facts
}

func notifyAccount(row store.AccountRow, state wire.ComponentState) notify.Account {
	running := state == wire.Starting || state == wire.Connected || state == wire.Disconnected || state == wire.Backoff
	return notify.Account{
		ID: row.ID, OwnerID: row.Account.OwnerID, OwnerChat: ownerChat(row.ID, row.Account),
		Running: running, Connected: state == wire.Connected, Local: isLocal(row.ID),
	}
}

// ownerChat is the owner's direct chat on an account, "" when nobody is known.
func ownerChat(id string, a store.Account) string {
	if isLocal(id) && a.OwnerID != "" {
		return local.Chat
	}
	return a.OwnerID
}

// originOf is the chat that a run answers. Only the owner's direct conversations begin with the owner's
// own id: the chat's is that alone, a thread's goes on with the thread's.
func (d *Daemon) originOf(record store.Delegation) notify.OriginChat {
	origin := notify.OriginChat{Account: record.Account}
	for _, row := range d.accountRows() {
		if row.ID == record.Account {
			speaker, _, _ := strings.Cut(record.Conversation, "\x00")
			origin.OwnersChat = row.Account.OwnerID != "" && speaker == row.Account.OwnerID
		}
	}
	return origin
}

// chatRun is the outermost of some nested runs that answers a chat: its owner is the one who wants to know.
// There is none where all of it began outside of chats, as with scv delegate in a terminal.
func (d *Daemon) chatRun(outermostFirst []string) (run store.Delegation, answers bool, err error) {
	for _, handle := range outermostFirst {
		record, known, err := d.runs.Record(handle)
		if err != nil {
			return store.Delegation{}, false, err
		}
		if known && record.AnswersChat() {
			return record, true, nil
		}
	}
	return store.Delegation{}, false, nil
}

// onceSet remembers what was done once in this life of the daemon.
type onceSet struct{ m sync.Map }

func (s *onceSet) has(key string) bool { _, there := s.m.Load(key); return there }
func (s *onceSet) add(key string)      { s.m.Store(key, struct{}{}) }

// clip bounds a word of a caller in a sentence of ours.
func clip(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}
