package main

import (
	"context"
	"errors"
	"math"
	"strings"
	"time"

	"scv/wire"
	"scv/wire/bus"
)

type restartCmd struct {
	WhenIdle bool          `help:"Restart into the installed release once owner work has ended."`
	Version  string        `placeholder:"V" help:"The version that was installed; another one there is refused."`
	Commit   string        `placeholder:"C" help:"The commit it was built from; another one there is refused."`
	MaxWait  time.Duration `placeholder:"10m" help:"Restart after this long whatever goes on (default 10m, at most 1h)."`
	DryRun   bool          `help:"Only say what it would wait for, and what a deadline would cut."`
	Wait     bool          `help:"Wait for the outcome; exit 0 only if the new release stays."`
	JSON     bool          `help:"Print the daemon's own answer: RestartInfo, with --dry-run or --wait RestartDetail."`
}

func (*restartCmd) Help() string {
	return "Alone it has the service manager end the daemon and start it again, at once (see scv start). With --when-idle the " +
		"daemon looks at what is installed at its own path, waits until whoever asks has finished and no owner " +
		"message is being answered, and goes over to the new release in place. The old one is kept and comes back if the " +
		"new one does not prove itself. Agents may ask for that too. Exit code: 0 scheduled (with --wait: updated; alone: it " +
		"serves), 1 refused or failed, 3 no daemon."
}

func (*restartCmd) example() string { return "scv restart --when-idle --wait" }

func (c *restartCmd) Run(a *app) error {
	switch {
	case !c.WhenIdle && !c.DryRun && (c.Version != "" || c.Commit != "" || c.MaxWait != 0 || c.Wait || c.JSON):
		return failf(exitUsage, "try: "+c.example(), "that needs --when-idle: without it the service is restarted at once, whatever is installed")
	case !c.WhenIdle && !c.DryRun:
		return c.now(a)
	case c.MaxWait < 0:
		return failf(exitUsage, "try: scv restart --when-idle --max-wait 10m", "--max-wait cannot be less than nothing")
	case c.DryRun:
		return c.explain(a)
	}
	var plan wire.RestartDetail
	var status wire.DaemonStatus
	err := a.call(changeLimit, func(ctx context.Context, client *bus.Client) (err error) {
		if status, err = client.Control(ctx, c.request(a)); err != nil {
			return err
		}
		plan, err = client.RestartExplain(ctx, wire.RestartExplain{})
		return err
	})
	switch {
	case err != nil:
		return err
	case status.Restart == nil:
		return failf(exitFailed, "", "the daemon took the request and has no plan")
	}
	if c.JSON && !c.Wait {
		return a.printJSON(status.Restart)
	}
	c.say(a, status)
	if !c.Wait || plan.ID == nil { // without an id it is over already
		return nil
	}
	return c.follow(a, *plan.ID, *status.Restart)
}

func (c *restartCmd) request(a *app) wire.RestartWhenIdleCommand {
	ask := wire.RestartWhenIdleCommand{Version: optional(c.Version), Commit: optional(c.Commit), Parent: optional(a.getenv("SCV_PARENT"))}
	if c.MaxWait > 0 {
		seconds := uint64(math.Ceil(c.MaxWait.Seconds()))
		ask.MaxWaitSeconds = &seconds
	}
	return ask
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// say tells what was scheduled.
func (c *restartCmd) say(a *app, status wire.DaemonStatus) {
	r, where := *status.Restart, "the usual owner chat"
	if r.Origin != nil {
		where = line(*r.Origin)
	}
	if r.WaitingFor != nil {
		a.note("waiting for %s, at most until %s; the outcome goes to %s",
			line(*r.WaitingFor), a.clockTime(r.DeadlineUnixSeconds), where)
	}
	if r.ToVersion == status.Version {
		a.note("what is installed has the version that runs already")
	}
	a.say("restarting into %s", line(r.ToVersion))
}

// explain tells what stands in the way, and asks for nothing.
func (c *restartCmd) explain(a *app) error {
	var d wire.RestartDetail
	err := a.call(changeLimit, func(ctx context.Context, client *bus.Client) (err error) {
		d, err = client.RestartExplain(ctx, wire.RestartExplain{Version: optional(c.Version), Commit: optional(c.Commit)})
		return err
	})
	switch {
	case err != nil:
		return err
	case c.JSON:
		return a.printJSON(d)
	}
	if d.Refusal != nil {
		return failf(exitFailed, "", "it would be refused: %s", line(*d.Refusal))
	}
	if d.Restart != nil {
		a.say("a restart into %s is under way", line(d.Restart.ToVersion))
	}
	if d.Into != nil {
		a.say("a restart now would go over to %s", line(*d.Into))
	}
	if len(d.Blockers) == 0 {
		a.say("it would wait for nothing")
	}
	for _, b := range d.Blockers {
		a.say("waits for %s", line(b))
	}
	for _, handle := range d.Cut {
		a.say("a restart now would cut %s", line(handle))
	}
	return nil
}

// follow waits for the outcome, through the restart itself.
func (c *restartCmd) follow(a *app, id string, plan wire.RestartInfo) error {
	const proof = 10 * time.Minute // a try, a migration, a soak, and accounts that come back
	limit := time.Until(unixTime(plan.DeadlineUnixSeconds)) + proof
	ctx, cancel := context.WithTimeout(a.ctx, limit)
	defer cancel()
	var d wire.RestartDetail
	said := ""
	if plan.WaitingFor != nil {
		said = *plan.WaitingFor
	}
	err := a.stay(ctx, func(ctx context.Context, client *bus.Client) (err error) {
		for {
			if d, err = client.RestartExplain(ctx, wire.RestartExplain{ID: &id}); err != nil || d.Outcome != nil {
				return err
			}
			if d.Restart != nil && d.Restart.WaitingFor != nil && *d.Restart.WaitingFor != said {
				said = *d.Restart.WaitingFor
				a.note("waiting for %s", line(said))
			}
			if !pause(ctx, a.pace.watch) {
				return ctx.Err()
			}
		}
	})
	switch {
	case a.ctx.Err() != nil:
		a.note("the restart goes on; its outcome is told in chat")
		return errInterrupted
	case errors.Is(err, context.DeadlineExceeded):
		return failf(exitFailed, "see "+a.command("logs"), "no outcome of the restart within %s", limit.Round(time.Second))
	case err != nil:
		return a.explain(err)
	}
	if c.JSON {
		if err := a.printJSON(d); err != nil {
			return err
		}
	} else {
		a.say("%s", strings.TrimSpace(body(*d.Outcome)))
	}
	if d.Updated == nil || !*d.Updated {
		return ended(exitFailed)
	}
	return nil
}
