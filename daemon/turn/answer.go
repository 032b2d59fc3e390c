package turn

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"scv/daemon/agent"
	"scv/daemon/channel"
	"scv/daemon/delegation"
	"scv/daemon/outbox"
	"scv/store"
)

// reply is what a turn leads to.
type reply struct {
	kind    channel.Kind
	text    string
	session string // the agent's own session id, when it has one
}

func failure(text string) reply { return reply{kind: channel.Failure, text: text} }

const (
	pauseAfterFault = time.Second      // before a step that the store refused is tried again
	stopGrace       = 10 * time.Second // to stop a run that took too long
)

// answer carries one claim to its reply. It returns without one only when ctx ends: then the claim
// stays, and the next start explains or answers it.
func (e *Engine) answer(ctx context.Context, row store.ClaimRow) {
	r, handle, ok := e.leftover(row)
	if !ok {
		r, handle, ok = e.work(ctx, row)
	}
	if !ok {
		return
	}
	if e.finish(ctx, row, r) && handle != "" {
		if err := e.o.Runs.Reported(ctx, handle); err != nil {
			e.o.Log.Error("cannot close a run's record; a later pass does", "handle", handle, "err", err)
		}
	}
}

// leftover is the reply to a claim whose turn an earlier daemon began: the run's answer, if it had ended
// before that daemon did, else that it was interrupted. Not ok: no turn has begun.
func (e *Engine) leftover(row store.ClaimRow) (r reply, handle string, ok bool) {
	handle = row.Claim.Handle
	if handle == "" {
		return reply{}, "", false
	}
	d, result, err := e.o.Runs.Ended(handle, MaxAnswer)
	if err != nil {
		e.o.Log.Info("a turn was interrupted", "handle", handle, "why", err)
		return failure(interrupted), "", true
	}
	a, known := e.o.Agents().Get(d.Agent)
	if !known {
		return failure("The agent " + d.Agent + " is no longer configured, so its answer cannot be read."), handle, true
	}
	return e.verdict(a, result), handle, true
}

// work runs the agent. Not ok means that ctx ended, so there is nothing to say yet.
func (e *Engine) work(ctx context.Context, row store.ClaimRow) (r reply, handle string, ok bool) {
	task, a, err := e.prepare(row)
	if err != nil {
		return failure(err.Error()), "", true
	}
	handle = delegation.NewHandle(a.Name())
	session := Session(row.Account, row.Claim.Conversation)
	task.Env = e.o.Runs.Environment(session, handle)
	run, err := a.Prepare(task)
	if err != nil {
		return failure(err.Error()), "", true
	}
	about := store.Delegation{
		Agent: a.Name(), Session: session, Account: row.Account,
		Conversation: row.Claim.Conversation, MessageID: row.Claim.MessageID,
	}
	about.Turn, err = e.mark(ctx, row, handle, a.Name())
	if err != nil {
		e.o.Log.Error("cannot begin a turn, trying again", "account", row.Account, "err", err)
		pause(ctx, pauseAfterFault)
		return reply{}, "", false
	}
	started, err := e.o.Runs.Start(ctx, handle, about, run)
	if err != nil {
		e.o.Log.Error("cannot start a run", "handle", handle, "err", err)
		return failure("The agent " + a.Name() + " could not be started: " + reason(err)), "", ctx.Err() == nil
	}
	return e.watch(ctx, row, a, started)
}

// watch waits for the run, bounded by the turn's limit.
func (e *Engine) watch(ctx context.Context, row store.ClaimRow, a agent.Agent, run *delegation.Run) (reply, string, bool) {
	limit := e.o.Limits().Others
	if row.Claim.Owner {
		limit = e.o.Limits().Owner
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-run.Done():
	case <-timer.C:
		e.stop(run, "it took longer than "+limit.String())
	case <-ctx.Done():
		e.cut(run)
		return reply{}, "", false
	}
	result, err := run.Result(MaxAnswer)
	if err != nil {
		e.o.Log.Error("cannot read a run's result", "handle", run.Handle, "err", err)
		return failure("The agent's answer could not be read. The log of scv says why."), run.Handle, true
	}
	return e.verdict(a, result), run.Handle, true
}

// stop stops a run and waits until it is gone, whatever became of the caller's context.
func (e *Engine) stop(run *delegation.Run, why string) {
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	if err := run.Stop(ctx, why); err != nil {
		e.o.Log.Error("cannot stop a run", "handle", run.Handle, "err", err)
	}
}

// cut ends a run because the daemon stops. Its claim stays and is explained at the next start.
func (e *Engine) cut(run *delegation.Run) {
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	if err := run.Stop(ctx, "SCV is stopping"); err != nil {
		e.o.Log.Error("cannot stop a run", "handle", run.Handle, "err", err)
		return
	}
	if err := e.o.Runs.Reported(ctx, run.Handle); err != nil {
		e.o.Log.Error("cannot close a run's record", "handle", run.Handle, "err", err)
	}
}

// verdict turns how a run ended into words.
func (e *Engine) verdict(a agent.Agent, result delegation.Result) reply {
	if result.Stopped != "" {
		return failure("The agent " + a.Name() + " was stopped: " + result.Stopped + ".")
	}
	answer, err := a.Answer(result.Output, result.Exit.Code)
	if err != nil {
		return failure(err.Error())
	}
	text := answer.Text
	if result.Truncated {
		text += "\n[cut here: the answer was longer than 64 KiB]"
	}
	return reply{kind: channel.Reply, text: text, session: answer.Session}
}

// mark writes down that the turn begins, before anything of it exists: from here on it is never run
// again. It returns the number of the turn in its conversation.
func (e *Engine) mark(ctx context.Context, row store.ClaimRow, handle, agentName string) (turn uint32, err error) {
	err = e.o.Store.Deliver(ctx, func(tx *store.Delivery) error {
		c, _ := tx.Conversation(row.Account, row.Claim.Conversation)
		if c.Agent != agentName {
			c.Agent, c.Session = agentName, ""
		}
		c.Turns++
		c.LastUse = e.o.Clock.Now()
		turn = c.Turns
		if err := tx.PutConversation(row.Account, row.Claim.Conversation, c); err != nil {
			return err
		}
		claim := row.Claim
		claim.Handle = handle
		return tx.UpdateClaim(row.Account, row.Seq, claim)
	})
	return turn, err
}

// finish replaces the claim by its reply in one commit, however long the store refuses.
func (e *Engine) finish(ctx context.Context, row store.ClaimRow, r reply) bool {
	for ctx.Err() == nil {
		err := e.o.Store.Deliver(ctx, func(tx *store.Delivery) error { return e.settle(tx, row, r) })
		if err == nil {
			e.o.Replied()
			return true
		}
		e.o.Log.Error("cannot store a reply, trying again", "account", row.Account, "err", err)
		pause(ctx, pauseAfterFault)
	}
	return false
}

// settle is the one step from claim to reply.
func (e *Engine) settle(tx *store.Delivery, row store.ClaimRow, r reply) error {
	if err := tx.DeleteClaim(row.Account, row.Seq); err != nil {
		return err
	}
	if r.session != "" {
		c, _ := tx.Conversation(row.Account, row.Claim.Conversation)
		c.Session = r.session
		if err := tx.PutConversation(row.Account, row.Claim.Conversation, c); err != nil {
			return err
		}
	}
	return outbox.Queue(tx, row.Account, store.Outbound{
		Kind: string(r.kind), Chat: row.Claim.Chat, Conversation: row.Claim.Conversation,
		InReplyTo: row.Claim.MessageID, ReplyHandle: row.Claim.ReplyHandle,
		Text: outbox.Cut(r.text, MaxAnswer+1024), ClientID: clientID(row),
	}, e.o.Clock.Now())
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

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// reason is the innermost cause, which names no path of ours twice.
func reason(err error) string {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err.Error() + "."
}
