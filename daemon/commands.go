package daemon

import (
	"fmt"

	"scv/daemon/channel"
	"scv/daemon/chatcommand"
	"scv/daemon/confirm"
	"scv/daemon/inbox"
	"scv/daemon/turn"
	"scv/store"
	"scv/wire"
)

// command carries out what an owner writes to SCV itself and says what it answers, inside inbox's own transaction.
func (d *Daemon) command(tx *store.Delivery, account string, m channel.Message, c chatcommand.Command) (string, error) {
	now := d.clock.Now()
	switch c {
	case chatcommand.Status:
		return chatcommand.StatusText(d.chatFacts(&tx.View, account, m)), nil
	case chatcommand.Stop:
		work, err := turn.Stop(tx, account, inbox.Conversation(m), now)
		if err != nil {
			return "", err
		}
		if work.Busy && !work.Stopped {
			if err := tx.AddJournal("turn_stopped", "owner", account+" "+work.Handle, nil); err != nil {
				return "", err
			}
		}
		return work.StopText(), nil
	case chatcommand.Help:
		return chatcommand.HelpText(confirm.Words()), nil
	}
	return "", fmt.Errorf("%q is not answered at once", c)
}

// chatFacts is what /status tells in one conversation: of others only how much there is.
func (d *Daemon) chatFacts(v *store.View, account string, m channel.Message) chatcommand.Facts {
	f := chatcommand.Facts{Version: d.o.Version, Here: turn.At(v, account, inbox.Conversation(m), d.clock.Now())}
	for _, h := range d.accounts.Health() {
		a := chatcommand.Account{ID: h.ID, State: string(h.State)}
		if h.Error != nil {
			a.Problem = *h.Error
		}
		f.Accounts = append(f.Accounts, a)
	}
	for _, row := range v.Delegations() {
		if row.State == store.RunLive && row.IdleSince.Zero() && row.Handle != f.Here.Handle {
			f.Elsewhere++
		}
	}
	for _, c := range v.OpenConfirms() {
		switch {
		case c.State != wire.Pending || c.Opened.IsZero():
		case c.Account == account && c.Chat == m.Chat:
			f.Questions = append(f.Questions, confirm.Question(c).Name())
		default:
			f.Others++
		}
	}
	return f
}
