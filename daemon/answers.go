package daemon

import (
	"context"
	"crypto/sha256"
	"fmt"

	"scv/daemon/channel"
	"scv/daemon/channel/local"
	"scv/daemon/confirm"
	"scv/store"
	"scv/wire"
)

// This file is what happens to questions inside transactions: of a rule, of the inbox, of the outbox.

// change applies one rule to one question in one transaction, with the line the chat is told.
func (q *questions) change(ctx context.Context, id string, rule func(confirm.Question) (confirm.Question, string)) error {
	return q.d.store.Deliver(ctx, func(tx *store.Delivery) error {
		c, known := tx.Confirm(id)
		if !known {
			return nil
		}
		after, line := rule(confirm.Question(c))
		return q.put(tx, c.State, after, line)
	})
}

// put stores a question changed from the state before, and queues its line. What has just ended goes
// into the journal.
func (q *questions) put(tx *store.Delivery, before wire.ConfirmState, c confirm.Question, line string) error {
	if err := tx.PutConfirm(store.Confirm(c)); err != nil {
		return err
	}
	if !before.Final() && c.State.Final() {
		if err := journalEnd(tx, c); err != nil {
			return err
		}
	}
	if confirm.Unanswered(c, line != "") && (line != "" || !before.Final()) {
		q.endedUnanswered(c.Account, c.Chat, q.d.clock.Now())
	}
	if line == "" {
		return nil
	}
	return q.queue(tx, c.Account, store.Outbound{
		Kind: string(channel.Notice), Chat: c.Chat, Text: line, ClientID: "c" + c.ID + "-" + string(c.State),
	})
}

func (q *questions) queue(tx *store.Delivery, account string, out store.Outbound) error {
	out.Queued = q.d.clock.Now()
	_, err := tx.AddOutbound(account, out)
	return err
}

// journalEnd keeps how a question ended; a receipt is kept for a year.
func journalEnd(tx *store.Delivery, c confirm.Question) error {
	if c.Receipt != nil {
		return tx.AddJournal(store.KindAnswered, "owner", c.ID+" "+string(c.State), c.Receipt)
	}
	return tx.AddJournal("confirm_ended", "daemon", c.ID+" "+string(c.State), nil)
}

// answer offers a message to the questions of its chat, inside inbox's own transaction.
func (q *questions) answer(tx *store.Delivery, account string, m channel.Message) (bool, error) {
	var open []confirm.Question
	quoted := ""
	for _, c := range tx.OpenConfirms() {
		if c.Account != account {
			continue
		}
		open = append(open, confirm.Question(c))
		if m.Quotes != "" && m.Quotes == c.MessageID {
			quoted = c.ID
		}
	}
	ruling := confirm.Judge(open, confirm.Answer{
		Account: account, Chat: m.Chat, Sender: m.Sender, Direct: m.Direct, Attachments: len(m.Files),
		Text: m.Text, MessageID: m.ID, Quotes: m.Quotes, Quoted: quoted, SentAt: m.SentAt,
		Live: m.Chat == local.Chat && isLocal(account), Unanswered: q.lastUnanswered(account, m.Chat),
	}, q.d.clock.Now())
	for _, c := range ruling.Changed {
		if err := q.put(tx, wire.Pending, c, ""); err != nil {
			return false, err
		}
	}
	for i, line := range ruling.Lines {
		out := store.Outbound{
			Kind: string(channel.Notice), Chat: m.Chat, Text: line, ReplyHandle: m.ReplyHandle,
			ClientID: answerID(account, m.ID, i), Transient: true,
		}
		if i == len(ruling.Lines)-1 && !ruling.Verdict.Turn() {
			out.InReplyTo = m.ID
		}
		if err := q.queue(tx, account, out); err != nil {
			return false, err
		}
	}
	if ruling.Verdict == confirm.NotForUs {
		return q.tooLate(tx, account, m)
	}
	return !ruling.Verdict.Turn(), nil
}

// tooLate catches an answer that names a question which has ended: an agent must not take it for a
// task.
func (q *questions) tooLate(tx *store.Delivery, account string, m channel.Message) (bool, error) {
	code := confirm.Coded(m.Text)
	if code == "" || len(m.Files) > 0 || !tx.CodeInUse(account, m.Chat, code) {
		return false, nil
	}
	return true, q.queue(tx, account, store.Outbound{
		Kind: string(channel.Notice), Chat: m.Chat, Text: "The question " + code + " has ended already; nothing was answered.",
		InReplyTo: m.ID, ReplyHandle: m.ReplyHandle, ClientID: answerID(account, m.ID, 0), Transient: true,
	})
}

// Attempt, Accepted and Refused are called by the outbox in its transactions.

// Attempt tells whether the question's text is still wanted, and that it is on its way now.
func (q *questions) Attempt(tx *store.Delivery, id string) (bool, error) {
	c, known := tx.Confirm(id)
	now := q.d.clock.Now()
	if !known || c.State.Final() {
		return false, nil
	}
	after := confirm.Question(c).Attempt(now)
	if c.Attempted && !after.State.Final() {
		return true, nil // a retry: nothing new to store
	}
	return !after.State.Final(), q.put(tx, c.State, after, "")
}

// Accepted opens the question.
func (q *questions) Accepted(tx *store.Delivery, id string, r channel.Receipt) error {
	c, known := tx.Confirm(id)
	if !known {
		return nil
	}
	after, line := confirm.Question(c).Accept(q.d.clock.Now(), r.At)
	after.MessageID = r.MessageID
	return q.put(tx, c.State, after, line)
}

// Refused ends the question: nobody has seen it.
func (q *questions) Refused(tx *store.Delivery, id string) error {
	c, known := tx.Confirm(id)
	if !known {
		return nil
	}
	return q.put(tx, c.State, confirm.Question(c).Refuse(q.d.clock.Now()), "")
}

// answerID names the i-th line that answers a message. It is short enough for every platform.
func answerID(account, messageID string, i int) string {
	sum := sha256.Sum256([]byte(account + "\x00" + messageID))
	return fmt.Sprintf("a%x-%d", sum[:12], i)
}
