// Package inbox is where every message enters. It turns a message into exactly one durable outcome: an
// answer to an open question, a claim that a turn will answer, a short refusal, or nothing for whoever
// the account does not answer. An adapter may acknowledge a message only after Receive has returned.
package inbox

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"unicode/utf8"

	"scv/daemon/channel"
	"scv/daemon/chatcommand"
	"scv/internal/clock"
	"scv/internal/failpoint"
	"scv/store"
	"scv/wire"
)

// Limits on claimed, unanswered messages (docs/rules.md §9).
const (
	MaxPerConversation = 8
	MaxPerAccount      = 64
	MaxRefusals        = 16      // in an account's outbox before others than its owner hear no more
	maxLook            = 1000    // messages of an outbox that are looked at for them
	MaxFiles           = 16      // of one message; what is more is said to be there
	maxMessageID       = 256     // bytes
	maxConversation    = 4 << 10 // bytes of its key; with an account's name the store takes 32 KiB
	maxText            = 1 << 20 // bytes; a longer message is refused in words
	chunk              = 100     // messages of a batch in one transaction
)

// Options is what the daemon hands in.
type Options struct {
	Store *store.Store
	Clock clock.Clock
	Log   *slog.Logger
	// Answer offers a message of the owner's direct chat to the open questions, in the same
	// transaction. True: it was theirs and becomes no turn.
	Answer func(tx *store.Delivery, account string, m channel.Message) (bool, error)
	// Command carries out what the owner writes to SCV itself, in the same transaction, and says what it answers.
	// What takes its turn among the messages does not come to it.
	Command func(tx *store.Delivery, account string, m channel.Message, c chatcommand.Command) (answer string, err error)
	// Recorded is called for every message that is new and from someone the account answers.
	Recorded func(tx *store.Delivery, account string, m channel.Message) error
	// Wake is called after a commit: turns and the outbox look again.
	Wake func()
}

// Inbox takes messages.
type Inbox struct{ o Options }

// New makes the inbox.
func New(o Options) *Inbox { return &Inbox{o: o} }

// Receive takes a batch in order and returns once each message is durable or known. An error means
// that the rest of the batch must come again; what came before is not taken twice.
func (b *Inbox) Receive(ctx context.Context, account string, batch []channel.Message) error {
	return b.receive(ctx, account, batch, func(*store.Delivery) error { return nil })
}

// ReceiveTo is Receive that also moves the account's cursor, once all of the batch is taken. That is one
// commit with the last messages, so that neither is kept without the other.
func (b *Inbox) ReceiveTo(ctx context.Context, account string, batch []channel.Message, cursor string) error {
	return b.receive(ctx, account, batch, func(tx *store.Delivery) error {
		return tx.PutCursor(account, cursor)
	})
}

// Cursor is where the account's receiving has come to, "" at first.
func (b *Inbox) Cursor(account string) (cursor string, err error) {
	err = b.o.Store.View(func(v *store.View) error {
		cursor = v.Cursor(account)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("cannot read the cursor of %q: %w", account, err)
	}
	return cursor, nil
}

func (b *Inbox) receive(ctx context.Context, account string, batch []channel.Message, last func(*store.Delivery) error) error {
	defer b.o.Wake()
	for {
		n := min(chunk, len(batch))
		err := b.o.Store.Deliver(ctx, func(tx *store.Delivery) error {
			if err := b.takeAll(tx, account, batch[:n]); err != nil || n < len(batch) {
				return err
			}
			return last(tx)
		})
		if err != nil {
			return fmt.Errorf("cannot take messages of %q: %w", account, err)
		}
		if batch = batch[n:]; len(batch) == 0 {
			return nil
		}
	}
}

func (b *Inbox) takeAll(tx *store.Delivery, account string, batch []channel.Message) error {
	settings, known := tx.Account(account)
	if !known || settings.LoggingOut {
		return fmt.Errorf("account %q has no settings", account)
	}
	for _, m := range batch {
		if err := b.take(tx, account, settings, m); err != nil {
			return err
		}
	}
	return nil
}

// take decides one message. The order of its steps is the order of the bridge's rules.
func (b *Inbox) take(tx *store.Delivery, account string, settings store.Account, m channel.Message) error {
	if m.ID == "" || len(m.ID) > maxMessageID || !utf8.ValidString(m.ID) {
		b.o.Log.Warn("message without a usable id dropped", "account", account)
		return nil
	}
	known := tx.SeenMessage(account, m.ID) && !failpoint.Broken(failpoint.BrokenDedup)
	mark := tx.MarkSeen
	if fromOwner(settings, m) {
		mark = tx.MarkOwnerSeen
	}
	if err := mark(account, m.ID); err != nil || known {
		return err
	}
	owner := IsOwner(settings, m)
	if !fromOwner(settings, m) && settings.Senders != wire.SendersAnyone {
		b.o.Log.Info("message of somebody who is not the owner ignored", "account", account)
		return nil
	}
	m = clean(m)
	if len(Conversation(m)) > maxConversation { // no turn of it could be kept
		b.o.Log.Warn("message with ids that are too long dropped", "account", account)
		return nil
	}
	if err := b.o.Recorded(tx, account, m); err != nil {
		return err
	}
	if c := command(m, owner); c != "" {
		return b.obey(tx, account, m, c)
	}
	if owner && m.Thread == "" { // a question is asked, and answered, in the chat itself
		if answered, err := b.o.Answer(tx, account, m); err != nil || answered {
			return err
		}
	}
	return b.claim(tx, account, m, owner, "")
}

// clean makes what somebody else wrote fit to be kept: the store takes valid UTF-8 only, and one message
// that it refuses would come again for ever.
func clean(m channel.Message) channel.Message {
	for _, s := range []*string{&m.Chat, &m.Sender, &m.Thread, &m.Text, &m.Quotes, &m.Quoted, &m.Root, &m.ReplyHandle} {
		*s = strings.ToValidUTF8(*s, "\uFFFD")
	}
	m.Text = strings.TrimSpace(m.Text)
	m.Files = cleanFiles(m.Files)
	return m
}

// IsOwner reports whether the account's owner wrote m in their direct chat. Without a known owner
// nobody is. Everything that an owner may do hangs on it: in a group others read along, and write.
func IsOwner(settings store.Account, m channel.Message) bool {
	return m.Direct && fromOwner(settings, m)
}

// fromOwner reports whether the owner wrote m, wherever: they are answered, which gives them no right.
func fromOwner(settings store.Account, m channel.Message) bool {
	return settings.OwnerID != "" && m.Sender == settings.OwnerID
}

// Conversation is the key of the conversation m belongs to: members of a group never share one, nor
// does a group share one with a direct chat, nor a thread with what is around it.
func Conversation(m channel.Message) string {
	key := m.Sender
	if !m.Direct {
		key = m.Chat + "\x00" + m.Sender
	}
	if m.Thread != "" {
		key += "\x00" + m.Thread
	}
	return key
}

// prompt is what an agent reads: the quoted words, marked line by line so that they cannot pass for the
// sender's own, and then the text. The turn adds what became of the files.
func prompt(m channel.Message) string {
	text := m.Text
	if n := len(m.Files) - MaxFiles; n > 0 {
		text = strings.TrimSpace(text + "\n\n" + fmt.Sprintf("[%d more files came with this message; only the first %d are taken]", n, MaxFiles))
	}
	if m.Quoted == "" {
		return text
	}
	return channel.Quote(m.Quoted, text)
}

func (b *Inbox) claim(tx *store.Delivery, account string, m channel.Message, owner bool, c chatcommand.Command) error {
	if why := b.tooMuch(tx, account, m); why != "" {
		return b.refuse(tx, account, m, owner, why)
	}
	_, err := tx.PutClaim(account, store.Claim{
		MessageID: m.ID, Conversation: Conversation(m), Chat: m.Chat, Sender: m.Sender, Owner: owner,
		Text: prompt(m), ReplyHandle: m.ReplyHandle, Claimed: b.o.Clock.Now(), Files: kept(m.Files), Command: string(c),
		Root: m.Root,
	})
	return err
}
