package turn

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"scv/internal/clock"
	"scv/store"
)

// mark writes down that the turn begins, before anything of it exists: from here on it is never run
// again. It returns the number of the turn in its conversation.
func (e *Engine) mark(ctx context.Context, row store.ClaimRow, handle, agentName, folder string) (turn uint32, err error) {
	err = e.o.Store.Deliver(ctx, func(tx *store.Delivery) error {
		c, _ := tx.Conversation(row.Account, memory(row))
		if !GoesOn(c, agentName, folder) {
			c.Session = ""
		}
		c.Agent, c.Folder = agentName, folder
		c.Turns++
		c.LastUse = e.o.Clock.Now()
		turn = c.Turns
		if remembers(row) {
			if err := tx.PutConversation(row.Account, memory(row), c); err != nil {
				return err
			}
		}
		now, there := find(&tx.View, row)
		if !there {
			return store.ErrMissing
		}
		claim := now.Claim
		if claim.Stop {
			return errNotWanted
		}
		claim.Handle = handle
		return tx.UpdateClaim(row.Account, row.Seq, claim)
	})
	return turn, err
}

// SessionFolder is where an agent's session of a conversation belongs: the folder it works in, or, without tools,
// none. What an agent learned with tools it must not tell without them.
func SessionFolder(tools bool, folder string) string {
	if !tools {
		return "without tools"
	}
	return folder
}

// GoesOn reports whether an agent can go on with its session of a conversation. A session is one agent's,
// and belongs to one SessionFolder: in another folder not every agent finds it.
func GoesOn(c store.Conversation, agentName, folder string) bool {
	return c.Agent == agentName && (c.Folder == "" || c.Folder == folder)
}

// remembered is the agent's own name of the conversation so far, "" where it cannot go on with that.
func (e *Engine) remembered(row store.ClaimRow, agentName, folder string) (session string, err error) {
	err = e.o.Store.View(func(v *store.View) error {
		if c, known := v.Conversation(row.Account, memory(row)); known && GoesOn(c, agentName, folder) {
			session = c.Session
		}
		return nil
	})
	return session, err
}

// finish replaces the claim by its reply in one commit, however long the store refuses.
func (e *Engine) finish(ctx context.Context, row store.ClaimRow, r reply) bool {
	for ctx.Err() == nil {
		err := e.o.Store.Deliver(ctx, func(tx *store.Delivery) error { return e.settle(tx, row, r) })
		if err == nil {
			e.o.Replied()
			if job := row.Claim.Job; job != nil {
				e.o.Reported(job.Handle, r.outcome())
			}
			return true
		}
		e.fault("cannot store a reply, trying again", row.Account, err)
		clock.Pause(ctx, pauseAfterFault)
	}
	return false
}

// settle is the one step from claim to reply. A claim that is gone went with its account.
func (e *Engine) settle(tx *store.Delivery, row store.ClaimRow, r reply) error {
	if _, there := find(&tx.View, row); !there {
		return nil
	}
	if err := errors.Join(tx.DeleteClaim(row.Account, row.Seq), forgetProgress(tx, row)); err != nil {
		return err
	}
	c, known := tx.Conversation(row.Account, memory(row))
	if (r.session != "" || r.forget && known) && remembers(row) {
		c.Session = r.session
		if err := tx.PutConversation(row.Account, memory(row), c); err != nil {
			return err
		}
	}
	kind, text, err := e.report(tx, row, r)
	if err != nil {
		return err
	}
	_, err = tx.AddOutbound(row.Account, store.Outbound{
		Kind: string(kind), Chat: row.Claim.Chat, Conversation: row.Claim.Conversation,
		InReplyTo: answered(row), ReplyHandle: row.Claim.ReplyHandle,
		Text: text, Files: uploads(r.files), ClientID: clientID(row), Queued: e.o.Clock.Now(),
	})
	return err
}

// clientID names the reply for good, so that a repeat over a crash is known as one.
func clientID(row store.ClaimRow) string {
	sum := sha256.Sum256([]byte(row.Account + "\x00" + row.Claim.MessageID))
	return "r" + hex.EncodeToString(sum[:12])
}

// Session is the id of SCV's own session for a conversation, free of the characters that tags use.
func Session(account, conversation string) string {
	sum := sha256.Sum256([]byte(account + "\x00" + conversation))
	return "chat-" + hex.EncodeToString(sum[:4])
}
