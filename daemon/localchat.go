package daemon

import (
	"context"
	"strconv"
	"sync"

	"scv/daemon/channel"
	"scv/daemon/channel/local"
	"scv/daemon/inbox"
	"scv/store"
	"scv/wire"
)

// This file keeps what the local chats show, and tells the terminals.

// lastOwnerEvery is how often the record of where the owner last wrote is renewed for the same chat.
const lastOwnerEvery = 10 * 60 // seconds

// locals are the running adapters of the local channel, by component id.
type locals struct{ sync.Map }

func (l *locals) get(account string) (*local.Adapter, bool) {
	a, there := l.Load(account)
	if !there {
		return nil, false
	}
	return a.(*local.Adapter), true
}

// show keeps one outgoing part as a line. The receipt names the line.
func (d *Daemon) show(ctx context.Context, account string, out channel.Outgoing) (channel.Receipt, error) {
	now := d.clock.Now().Wall
	line := store.ChatLine{Kind: wire.ChatLineKind(out.Kind), Text: out.Text, ClientID: out.ClientID, At: now}
	if out.Last {
		line.InReplyTo = out.InReplyTo
	}
	var seq uint64
	err := d.store.Deliver(ctx, func(tx *store.Delivery) (err error) {
		seq, _, err = tx.AddChatLine(account, line)
		return err
	})
	return channel.Receipt{MessageID: strconv.FormatUint(seq, 10), At: now}, err
}

// delivered tells the terminals of a line once its acceptance is committed: a question is open before
// anybody can see it.
func (d *Daemon) delivered(account string, out channel.Outgoing, receipt channel.Receipt) {
	d.questions.Wake()
	if !isLocal(account) {
		return
	}
	seq, err := strconv.ParseUint(receipt.MessageID, 10, 64)
	if err != nil {
		return
	}
	d.publishLine(account, seq)
}

// publishLine reads one line back, so that what terminals see is what is kept.
func (d *Daemon) publishLine(account string, seq uint64) {
	var lines []store.ChatLineRow
	err := d.store.View(func(v *store.View) error {
		lines = v.ChatLines(account, seq-1, wire.MaxChatBacklog)
		return nil
	})
	if err != nil {
		d.log.Error("cannot read the chat", "account", account, "err", err)
		return
	}
	for _, row := range lines {
		if row.Seq == seq {
			d.publishEvent(wire.EventChat+accountOf(account, "").Name, chatLine(row))
		}
	}
}

func chatLine(row store.ChatLineRow) wire.ChatLine {
	l := wire.ChatLine{
		Seq: row.Seq, Kind: row.ChatLine.Kind, Text: row.ChatLine.Text,
		AtUnixMillis: uint64(max(row.ChatLine.At.UnixMilli(), 0)),
	}
	if row.ChatLine.MessageID != "" {
		l.MessageID = &row.ChatLine.MessageID
	}
	if row.ChatLine.InReplyTo != "" {
		l.InReplyTo = &row.ChatLine.InReplyTo
	}
	return l
}

// recorded is inbox's hook for each new message: the local chat shows it, and the owner's latest chat
// is remembered.
func (d *Daemon) recorded(tx *store.Delivery, account string, m channel.Message) error {
	if isLocal(account) {
		_, _, err := tx.AddChatLine(account, store.ChatLine{
			Kind: wire.ChatOwner, Text: m.Text, MessageID: m.ID, At: d.clock.Now().Wall,
		})
		if err != nil {
			return err
		}
	}
	settings, _ := tx.Account(account)
	if !inbox.IsOwner(settings, m) {
		return nil
	}
	now := d.clock.Now()
	last, known := tx.LastOwner()
	same := known && last.Account == account && last.Chat == m.Chat && last.Terminal == m.Terminal
	if same && now.Since(last.At).Seconds() < lastOwnerEvery {
		return nil
	}
	return tx.PutLastOwner(store.LastOwner{Account: account, Chat: m.Chat, Terminal: m.Terminal, At: now})
}
