package turn

import (
	"context"
	"errors"

	"scv/daemon/channel"
	"scv/daemon/chatcommand"
	"scv/daemon/delegation"
	"scv/daemon/live"
	"scv/internal/clock"
	"scv/store"
)

// This file is what an owner can do to the turns of a conversation by a word to SCV itself. /new is a claim. /stop
// marks one: the mark is in the commit of its answer, and whoever finds it stops what it is on, so that neither a
// crash nor another release in between loses it.

// obey is the turn of a command. It can be done twice: a crash before its reply repeats it.
func (e *Engine) obey(ctx context.Context, row store.ClaimRow) (r reply, ok bool) {
	if err := e.o.Live.Forget(ctx, live.Key{Account: row.Account, Conversation: memory(row)}); err != nil {
		e.notBegun(ctx, row, err)
		return reply{}, false
	}
	return reply{kind: channel.Notice, text: chatcommand.Renewed, forget: true}, true
}

// At is what a conversation is at: its oldest message, whether or not its turn has begun. Who says to stop it means
// that one.
func At(v *store.View, account, conversation string, now clock.Stamp) (w chatcommand.Work) {
	w, _ = at(v, account, conversation, now)
	return w
}

func at(v *store.View, account, conversation string, now clock.Stamp) (w chatcommand.Work, head store.ClaimRow) {
	for _, row := range v.Claims(account) {
		switch {
		case row.Claim.Conversation != conversation || row.Claim.Job != nil:
		case w.Busy:
			w.Waiting++
		case row.Claim.Command == "":
			head = row
			w = chatcommand.Work{Busy: true, Stopped: row.Claim.Stop, Handle: row.Claim.Handle, Since: now.Since(row.Claim.Claimed)}
			if d, known := v.Delegation(row.Claim.Handle); known {
				w.Agent = d.Agent
			}
		}
	}
	return w, head
}

// Stop marks what a conversation is at as not wanted any more, and tells what that is. The engine is to be woken
// after the commit.
func Stop(tx *store.Delivery, account, conversation string, now clock.Stamp) (chatcommand.Work, error) {
	w, head := at(&tx.View, account, conversation, now)
	if !w.Busy || w.Stopped {
		return w, nil
	}
	head.Claim.Stop = true
	return w, tx.UpdateClaim(account, head.Seq, head.Claim)
}

const whyAsked = "because you asked for it with " + string(chatcommand.Stop)

// errNotWanted is why a turn is not begun: its message was marked first.
var errNotWanted = errors.New("its message was stopped before the turn began")

func notWanted() reply {
	return failure("Your message was stopped before its turn began, " + whyAsked + ".")
}

// stopMarked stops the runs of marked claims, with all that is tied to them; their turns then end as those of any
// run that is stopped. Not yet means that one is just being started, and is to be looked at again soon.
func (e *Engine) stopMarked(claims []store.ClaimRow) (notYet bool) {
	for _, row := range claims {
		handle := row.Claim.Handle
		if !row.Claim.Stop {
			continue
		}
		if handle == "" {
			e.endFetching(row)
			continue
		}
		run := e.o.Runs.Own(handle)
		if run == nil {
			notYet = notYet || e.isBusy(keyOf(row))
			continue
		}
		if !over(run) && e.beginStop(handle) {
			e.turns.Go(func() {
				_ = e.stop(run, whyAsked) // what fails is logged, and tried again
				e.endStop(handle)
			})
		}
	}
	return notYet
}

// over reports whether a run has ended, although its reply may not be stored yet.
func over(run *delegation.Run) bool {
	select {
	case <-run.Done():
		return true
	default:
		return false
	}
}

func (e *Engine) isBusy(key conversation) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.busy[key]
}

func (e *Engine) beginStop(handle string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stopping[handle] {
		return false
	}
	e.stopping[handle] = true
	return true
}

func (e *Engine) endStop(handle string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.stopping, handle)
}

// whileFetching bounds what a turn does before it begins: the mark on its claim ends that.
func (e *Engine) whileFetching(ctx context.Context, row store.ClaimRow) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	key := claim{row.Account, row.Seq}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fetching[key] = cancel
	return ctx, func() {
		cancel()
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.fetching, key)
	}
}

func (e *Engine) endFetching(row store.ClaimRow) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if end := e.fetching[claim{row.Account, row.Seq}]; end != nil {
		end()
	}
}
