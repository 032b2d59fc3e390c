package inbox

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"scv/daemon/channel"
	"scv/internal/clock"
	"scv/store"
)

// tooMuch says why a message cannot be claimed, or "".
func (b *Inbox) tooMuch(tx *store.Delivery, account string, m channel.Message) string {
	switch {
	case m.Text == "" && onlyVoice(m.Files):
		return "I cannot listen to voice messages. Please type what to do instead."
	case m.Text == "" && len(m.Files) == 0:
		return "That message had no text. Please write what to do."
	case len(m.Text) > maxText:
		return fmt.Sprintf("That message is too long: %d bytes, and I take %d at most. Please shorten it.",
			len(m.Text), maxText)
	}
	claims := tx.Claims(account)
	same := 0
	for _, row := range claims {
		if row.Claim.Conversation == Conversation(m) {
			same++
		}
	}
	if same >= MaxPerConversation || len(claims) >= MaxPerAccount {
		return fmt.Sprintf("Too many messages wait for an answer (%d here, %d in all). "+
			"This one was not taken; please send it again later.", same, len(claims))
	}
	return ""
}

// refuse answers a message that was not claimed. The owner hears of each. Of others only so much is queued: with an
// account that answers anyone, they could else fill the outbox before the owner's answers.
func (b *Inbox) refuse(tx *store.Delivery, account string, m channel.Message, owner bool, why string) error {
	if !owner && !roomToRefuse(tx, account, m) {
		b.o.Log.Info("a message was refused without a word: such words wait already", "account", account)
		return nil
	}
	_, err := tx.AddOutbound(account, refusal(m, why, b.o.Clock.Now()))
	return err
}

// roomToRefuse reports whether few enough refusals wait in the outbox, and none for the same conversation.
func roomToRefuse(tx *store.Delivery, account string, m channel.Message) bool {
	waiting := 0
	queued := tx.Outbox(account, maxLook)
	for _, row := range queued {
		if !row.Transient || row.Kind != string(channel.Failure) {
			continue
		}
		if waiting++; row.Conversation == Conversation(m) {
			return false
		}
	}
	return waiting < MaxRefusals && len(queued) < maxLook
}

// refusal is the short answer to a message that was not claimed. It is not worth holding.
func refusal(m channel.Message, why string, now clock.Stamp) store.Outbound {
	return store.Outbound{
		Kind: string(channel.Failure), Chat: m.Chat, Conversation: Conversation(m), InReplyTo: m.ID,
		ReplyHandle: m.ReplyHandle, Text: why, ClientID: clientID(m), Transient: true, Queued: now,
	}
}

// clientID names the refusal for good. It is short, since platforms limit it to less than a message id.
func clientID(m channel.Message) string {
	sum := sha256.Sum256([]byte(m.ID))
	return "b" + hex.EncodeToString(sum[:12])
}
