package turn

import (
	"context"
	"errors"
	"slices"
	"time"

	"scv/daemon/agent"
	"scv/daemon/channel"
	"scv/daemon/delegation"
	"scv/daemon/media"
	"scv/internal/clock"
	"scv/store"
	"scv/wire"
)

// reply is what a turn leads to.
type reply struct {
	kind    channel.Kind
	text    string
	session string                 // the agent's own session id, when it has one
	forget  bool                   // it does not know the session it had any more
	mute    bool                   // the agent ended well and said nothing: files of its are an answer all the same
	boxless bool                   // the turn had no outbox: what stands in it is none of this answer's
	files   []media.Out            // that go with it
	ended   wire.DelegationOutcome // how the run ended, where kind does not say it
}

func failure(text string) reply { return reply{kind: channel.Failure, text: text} }

const (
	pauseAfterFault = time.Second      // before a step that the store refused is tried again
	stopGrace       = 10 * time.Second // to stop a run that took too long
)

// answer carries one claim to its reply. It returns without one only when ctx ends or the claim is gone:
// one that stays is explained or answered by the next start.
func (e *Engine) answer(ctx context.Context, listed store.ClaimRow) {
	row, there, err := e.current(listed)
	if err != nil {
		e.fault("cannot read a claim, trying again", listed.Account, err)
		clock.Pause(ctx, pauseAfterFault)
	}
	if err != nil || !there {
		return
	}
	r, handle, ok := reply{}, row.Claim.Handle, false
	switch run := e.o.Runs.Own(handle); {
	case row.Claim.Command != "":
		r, ok = e.obey(ctx, row)
	case row.Claim.Stop && handle == "":
		r, ok = notWanted(), true
	case run != nil:
		r, handle, ok = e.goOn(ctx, row, run)
	case handle != "":
		r, handle, ok = e.leftover(row)
	default:
		r, handle, ok = e.work(ctx, row)
	}
	if !ok {
		return
	}
	r = e.collect(row, r)
	if !e.finish(ctx, row, r) {
		return
	}
	e.sent(row, r)
	if handle != "" {
		e.close(ctx, handle)
	}
}

// current reads a claim afresh, now that its conversation is ours: it may have been answered since the
// list was made.
func (e *Engine) current(listed store.ClaimRow) (row store.ClaimRow, there bool, err error) {
	err = e.o.Store.View(func(v *store.View) error {
		row, there = find(v, listed)
		return nil
	})
	return row, there, err
}

func find(v *store.View, listed store.ClaimRow) (store.ClaimRow, bool) {
	claims := v.Claims(listed.Account)
	i := slices.IndexFunc(claims, func(r store.ClaimRow) bool { return r.Seq == listed.Seq })
	if i < 0 {
		return listed, false
	}
	return claims[i], true
}

// close ends the record of a run whose report is stored.
func (e *Engine) close(ctx context.Context, handle string) {
	if err := e.o.Runs.Reported(ctx, handle); err != nil {
		e.o.Log.Error("cannot close a run's record; a later pass does", "handle", handle, "err", err)
	}
}

// goOn waits for a run that an earlier program of this process has begun.
func (e *Engine) goOn(ctx context.Context, row store.ClaimRow, run *delegation.Run) (r reply, handle string, ok bool) {
	d, _, err := e.o.Runs.Record(run.Handle)
	if err != nil {
		e.fault("cannot read a run, trying again", row.Account, err)
		clock.Pause(ctx, pauseAfterFault)
		return reply{}, "", false
	}
	a, known := e.o.Agents().Get(d.Agent)
	if !known {
		_ = e.stop(run, "because its agent is no longer configured")
		return noAgent(d.Agent), run.Handle, true
	}
	return e.watch(ctx, row, a, run, 0)
}

func noAgent(name string) reply {
	return failure("The agent " + name + " is no longer configured, so its answer cannot be read.")
}

// leftover is the reply to a claim whose turn an earlier daemon began: the run's answer, if it had ended
// before that daemon did, else that it was interrupted.
func (e *Engine) leftover(row store.ClaimRow) (r reply, handle string, ok bool) {
	handle = row.Claim.Handle
	d, result, err := e.o.Runs.Ended(handle, MaxAnswer)
	if errors.Is(err, delegation.ErrNotEnded) && row.Claim.Stop { // a crash came before the stop, or instead of it
		return reply{kind: channel.Failure, text: "The agent was stopped " + whyAsked + ".", ended: wire.RunKilled}, "", true
	}
	if errors.Is(err, delegation.ErrNotEnded) {
		e.o.Log.Info("a turn was interrupted", "handle", handle, "why", err)
		return reply{kind: channel.Failure, text: e.interrupted(row, handle), ended: wire.RunLost}, "", true
	}
	if err != nil {
		return e.unreadable(handle, err), handle, true
	}
	a, known := e.o.Agents().Get(d.Agent)
	if !known {
		return noAgent(d.Agent), handle, true
	}
	return e.verdict(row, a, result), handle, true
}

// work runs the agent. Not ok means that ctx ended, so there is nothing to say yet.
func (e *Engine) work(ctx context.Context, row store.ClaimRow) (r reply, handle string, ok bool) {
	task, a, err := e.prepare(row)
	if err != nil {
		return failure(err.Error()), "", true
	}
	handle, about, err := e.about(row, a, task.Tools)
	if err != nil {
		return failure(reason(err)), "", true
	}
	if task.Session, err = e.remembered(row, a.Name(), SessionFolder(task.Tools, task.Workspace)); err != nil {
		e.notBegun(ctx, row, err)
		return reply{}, "", false
	}
	if task.Session == "" && row.Claim.Root != "" { // the agent has not seen what the thread is about
		task.Prompt = channel.Quote(row.Claim.Root, task.Prompt)
	}
	spent := e.equip(ctx, row, &task)
	if ctx.Err() != nil {
		return reply{}, "", false
	}
	if stays, does := a.(agent.Live); does {
		r, handle, ok = e.converse(ctx, row, stays, task, handle, about, spent)
		r.boxless = task.Outbox == ""
		return r, handle, ok
	}
	task.Env = e.o.Runs.Environment(handle, about)
	run, err := a.Prepare(task)
	if err != nil {
		return failure(err.Error()), "", true
	}
	about.Turn, err = e.mark(ctx, row, handle, a.Name(), SessionFolder(task.Tools, task.Workspace))
	if err != nil {
		e.notBegun(ctx, row, err)
		return reply{}, "", false
	}
	starting, cancel := delegation.Surviving(ctx)
	started, err := e.o.Runs.Start(starting, handle, about, run)
	cancel()
	if err != nil {
		e.o.Log.Error("cannot start a run", "handle", handle, "err", err)
		return failure("The agent " + a.Name() + " could not be started: " + reason(err)), "", ctx.Err() == nil
	}
	r, handle, ok = e.watch(ctx, row, a, started, spent)
	r.boxless = task.Outbox == ""
	return r, handle, ok
}

// notBegun is a turn that left no trace: its account was logged out, its message was stopped first, the daemon
// stops, or it is tried again.
func (e *Engine) notBegun(ctx context.Context, row store.ClaimRow, err error) {
	if errors.Is(err, store.ErrMissing) || errors.Is(err, errNotWanted) || ctx.Err() != nil {
		return
	}
	e.fault("cannot begin a turn, trying again", row.Account, err)
	clock.Pause(ctx, pauseAfterFault)
}

// reason is the innermost cause, which names no path of ours twice.
func reason(err error) string {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err.Error() + "."
}
