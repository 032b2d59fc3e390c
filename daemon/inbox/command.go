package inbox

import (
	"scv/daemon/channel"
	"scv/daemon/chatcommand"
	"scv/store"
)

// command is what the owner writes to SCV itself in their direct chat, or in a thread of it, which is a
// conversation of its own. Of anybody else the same words are a message like any other.
func command(m channel.Message, owner bool) chatcommand.Command {
	if !owner || len(m.Files) > 0 || m.Quotes != "" || m.Quoted != "" {
		return ""
	}
	return chatcommand.Read(m.Text)
}

// obey takes a command. /new changes what the messages behind it mean, so it is a claim and comes in its order;
// the others are answered in this very transaction: once, and never behind a turn.
func (b *Inbox) obey(tx *store.Delivery, account string, m channel.Message, c chatcommand.Command) error {
	if c == chatcommand.New {
		return b.claim(tx, account, m, true, c)
	}
	answer, err := b.o.Command(tx, account, m, c)
	if err != nil {
		return err
	}
	_, err = tx.AddOutbound(account, store.Outbound{
		Kind: string(channel.Notice), Chat: m.Chat, Conversation: Conversation(m), InReplyTo: m.ID,
		ReplyHandle: m.ReplyHandle, Text: answer, ClientID: clientID(m), Transient: true, Queued: b.o.Clock.Now(),
	})
	return err
}
