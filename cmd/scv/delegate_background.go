package main

import (
	"context"
	"errors"
	"math"
	"time"

	"scv/wire"
	"scv/wire/bus"
)

// inBackground hands the task to the daemon and prints the handle of its run.
func (c *delegateCmd) inBackground(a *app, prompt, folder string) error {
	handle, err := c.start(a, prompt, folder)
	if err != nil {
		return err
	}
	a.say("%s", line(handle))
	if a.watched {
		a.note("it runs in the background and reports in chat; to wait for it: %s", a.command("delegate --wait "+shellWord(handle)))
	}
	return nil
}

// start has the daemon run the agent.
func (c *delegateCmd) start(a *app, prompt, folder string) (handle string, err error) {
	ask := wire.DelegationStart{Agent: c.Agent, Prompt: prompt, Cwd: folder, Conversation: c.conversation()}
	if c.Timeout > 0 {
		seconds := uint64(math.Ceil(c.Timeout.Seconds()))
		ask.TimeoutSeconds = &seconds
	}
	var ticket wire.DelegationTicket
	err = a.call(changeLimit, func(ctx context.Context, client *bus.Client) (err error) {
		ticket, err = client.DelegationStart(ctx, ask)
		return err
	})
	return ticket.Handle, err
}

// waitForRun follows a run to its end, across restarts of the daemon, and prints its report.
func (a *app) waitForRun(handle string, timeout time.Duration) error {
	ctx, cancel := a.ctx, context.CancelFunc(func() {})
	if timeout > 0 {
		ctx, cancel = context.WithTimeoutCause(a.ctx, timeout, errTookTooLong)
	}
	defer cancel()
	report, err := a.reportOf(ctx, handle)
	if errors.Is(context.Cause(ctx), errTookTooLong) && report.Outcome == wire.RunRunning {
		return failf(exitFailed, "it goes on; wait again: "+a.command("delegate --wait "+shellWord(handle)), "%s has not ended within %s", handle, timeout)
	}
	if err != nil {
		return err
	}
	text := ""
	if report.Text != nil {
		text = body(*report.Text)
	}
	if report.Outcome != wire.RunFinished {
		a.note("scv: %s: %s: %s", line(handle), report.Outcome, text)
		return ended(exitFailed)
	}
	a.say("%s", text)
	return nil
}

// reportOf follows a run to its end. The report it returns with an error is the last known.
func (a *app) reportOf(ctx context.Context, handle string) (wire.DelegationReport, error) {
	w := &waiting{a: a, handle: handle}
	err := a.stay(ctx, w.work)
	return w.report, a.explain(err)
}

// waiting is one wait for a run.
type waiting struct {
	a      *app
	handle string
	report wire.DelegationReport // as last told
}

// work listens before it asks, so that no end falls in between.
func (w *waiting) work(ctx context.Context, client *bus.Client) error {
	events, err := client.WatchDelegation(ctx, w.handle)
	if err != nil {
		return err
	}
	again := time.NewTicker(w.a.pace.keepAlive)
	defer again.Stop()
	for {
		asking, cancel := context.WithTimeout(ctx, changeLimit)
		w.report, err = client.DelegationWait(asking, w.handle)
		cancel()
		if err != nil || w.report.Outcome != wire.RunRunning {
			return err
		}
		select {
		case _, open := <-events:
			if !open {
				return errAway
			}
		case <-again.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
