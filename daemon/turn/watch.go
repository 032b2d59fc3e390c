package turn

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"scv/daemon/agent"
	"scv/daemon/channel"
	"scv/daemon/delegation"
	"scv/store"
	"scv/wire"
)

// watch waits for the run, bounded by the turn's limit, of which a part was spent before it began. A daemon that
// goes over to another release leaves it at work.
func (e *Engine) watch(
	ctx context.Context, row store.ClaimRow, a agent.Agent, run *delegation.Run, spent time.Duration,
) (reply, string, bool) {
	limit := e.limit(row)
	timer := time.NewTimer(limit - spent - run.Lasted())
	defer timer.Stop()
	defer e.showWork(ctx, row, a, printing(a, run))()
	select {
	case <-run.Done():
	case <-timer.C:
		if err := e.stop(run, "because it took longer than "+limit.String()); err != nil {
			return failure("The agent " + a.Name() + " took longer than " + limit.String() +
				" and could not be stopped. scv delegations --all shows what is left of it."), run.Handle, true
		}
	case <-ctx.Done():
		if !errors.Is(context.Cause(ctx), delegation.ErrMoving) || !run.Leave() {
			e.cut(run)
		}
		return reply{}, "", false
	}
	result, err := run.Result(MaxAnswer)
	if err != nil {
		return e.unreadable(run.Handle, err), run.Handle, true
	}
	return e.verdict(row, a, result), run.Handle, true
}

// limit is how long the claim's turn may take.
func (e *Engine) limit(row store.ClaimRow) time.Duration {
	switch limits := e.o.Limits(); {
	case row.Claim.Job != nil && row.Claim.Job.Timeout > 0:
		return row.Claim.Job.Timeout
	case row.Claim.Owner:
		return limits.Owner
	default:
		return limits.Others
	}
}

func (e *Engine) unreadable(handle string, err error) reply {
	e.o.Log.Error("cannot read a run's result", "handle", handle, "err", err)
	return failure("The agent's answer could not be read. The log of scv says why.")
}

// stop stops a run and waits until it is gone, whatever became of the caller's context.
func (e *Engine) stop(run *delegation.Run, why string) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	err := run.Stop(ctx, why)
	if err != nil {
		e.o.Log.Error("cannot stop a run", "handle", run.Handle, "err", err)
	}
	return err
}

// cut ends a run because the daemon stops. Its claim stays, and the next start explains it. A run that
// had ended by itself stays on record too, so that the next start has its answer.
func (e *Engine) cut(run *delegation.Run) {
	if e.stop(run, "because SCV was stopping") != nil || run.Stopped() == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	e.close(ctx, run.Handle)
}

// verdict turns how a run ended into words.
func (e *Engine) verdict(row store.ClaimRow, a agent.Agent, result delegation.Result) reply {
	if result.Stopped != "" {
		r := failure("The agent " + a.Name() + " was stopped " + result.Stopped + "." + e.lastSaid(row, result))
		r.ended = wire.RunKilled
		return r
	}
	answer, err := agent.Verdict(a, wholeCharacters(result), result.Errors, result.Exit.Code)
	if errors.Is(err, agent.ErrSessionLost) {
		r := failure(err.Error() + ". Send your message again: that begins a new one.")
		r.forget = true
		return r
	}
	if err != nil {
		if own, ok := errors.AsType[*agent.SaidError](err); ok {
			result.Errors = []byte(own.Said) // better than the end of its stderr
		}
		r := failure(err.Error() + e.lastSaid(row, result))
		r.mute, r.session = errors.Is(err, agent.ErrNoAnswer), answer.Session
		return r
	}
	text := answer.Text
	if len(text) > MaxAnswer { // cleaning can make it longer
		text, result.Truncated = strings.ToValidUTF8(text[:MaxAnswer], ""), true
	}
	if result.Truncated {
		text += "\n[cut here: the answer was longer than 64 KiB]"
	}
	return reply{kind: channel.Reply, text: text, session: answer.Session}
}

// wholeCharacters is the output without the part of a character that a cut left at its end.
func wholeCharacters(result delegation.Result) []byte {
	out := result.Output
	for n := 1; result.Truncated && n < utf8.UTFMax && n <= len(out); n++ {
		if tail := out[len(out)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				out = out[:len(out)-n]
			}
			break
		}
	}
	return out
}
