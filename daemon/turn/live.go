package turn

import (
	"context"
	"errors"
	"time"

	"scv/daemon/agent"
	"scv/daemon/channel"
	"scv/daemon/delegation"
	"scv/daemon/live"
	"scv/store"
	"scv/wire"
)

// converse has a live agent take the turn. handle and about are those of a new run; an agent that has
// waited since its last turn goes on in its own.
func (e *Engine) converse(
	ctx context.Context, row store.ClaimRow, a agent.Live, task agent.Task, handle string, about store.Delegation,
	spent time.Duration,
) (r reply, ended string, ok bool) {
	var does doing
	stop := e.showWork(ctx, row, a, does.get)
	o, err := e.o.Live.Turn(ctx, live.Ask{
		Key:   live.Key{Account: row.Account, Conversation: memory(row)},
		Agent: a, Task: task, Handle: handle, About: about, Once: row.Claim.Job != nil,
		Limit: e.limit(row), Spent: spent,
		Begin: func(ctx context.Context, handle string) (uint32, error) {
			return e.mark(ctx, row, handle, a.Name(), SessionFolder(task.Tools, task.Workspace))
		},
		Named:    func(ctx context.Context, session string) { e.name(ctx, row, session) },
		Progress: does.set,
	})
	stop()
	if err != nil {
		e.notBegun(ctx, row, err)
		return reply{}, "", false
	}
	if o.Ended {
		ended = o.Handle
	}
	r = e.spoken(row, a, o)
	r.session = o.Reply.Session
	return r, ended, true
}

// spoken makes a reply of how the turn of a live agent ended.
func (e *Engine) spoken(row store.ClaimRow, a agent.Live, o live.Outcome) reply {
	last := o.Errors
	if own, ok := errors.AsType[*agent.SaidError](o.Err); ok && own.Said != "" {
		last = []byte(own.Said)
	}
	said := e.lastSaid(row, delegation.Result{Errors: last})
	switch {
	case o.Stopped != "":
		r := failure("The agent " + a.Name() + " was stopped " + o.Stopped + "." + said)
		r.ended = wire.RunKilled
		return r
	case o.Err != nil && o.Handle == "":
		if failed, ok := errors.AsType[*live.NotStartedError](o.Err); ok {
			return failure("The agent " + a.Name() + " could not be started: " + reason(failed.Err))
		}
		return failure(o.Err.Error())
	case o.Err != nil:
		r := failure(o.Err.Error() + said)
		r.mute = errors.Is(o.Err, agent.ErrNoAnswer)
		return r
	}
	return reply{kind: channel.Reply, text: o.Reply.Text}
}

// name stores what the agent calls the conversation, so that a crash in its very first turn does not cut
// it off from what was said.
func (e *Engine) name(ctx context.Context, row store.ClaimRow, session string) {
	if !remembers(row) {
		return
	}
	err := e.o.Store.Deliver(ctx, func(tx *store.Delivery) error {
		c, known := tx.Conversation(row.Account, memory(row))
		if !known || c.Session == session {
			return nil
		}
		c.Session = session
		return tx.PutConversation(row.Account, memory(row), c)
	})
	if err != nil {
		e.o.Log.Error("cannot store an agent's name of a conversation", "account", row.Account, "err", err)
	}
}
