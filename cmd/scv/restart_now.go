package main

import (
	"context"
	"strings"
	"time"

	"scv/daemon/service"
	"scv/wire"
	"scv/wire/bus"
)

// now restarts the service at once, whatever goes on.
func (c *restartCmd) now(a *app) error {
	k, err := a.forPerson("restart")
	if err != nil {
		return err
	}
	absent, err := k.absent()
	if err != nil {
		return err
	}
	if absent {
		return a.notKept(k)
	}
	if err := a.reach(k); err != nil {
		return err
	}
	st, err := k.State(a.ctx)
	if err != nil {
		return err
	}
	switch _, strange := k.stranger(st); {
	case strange:
		return a.notKept(k)
	case !st.Active:
		return failf(exitFailed, "start it: "+a.command("start"), "%s does not run: %s", line(k.Unit()), line(st.Words))
	}
	a.sayCut()
	if err := k.Restart(a.ctx); err != nil {
		return failf(exitFailed, "", "cannot restart %s: %w", k.Unit(), err)
	}
	status, err := a.awaitServing(k, st.PID)
	if err != nil {
		return err
	}
	a.say("scv %s serves, pid %d", line(status.Version), status.PID)
	return nil
}

func (k *keeper) absent() (bool, error) {
	standing, _, err := service.Installed(k, k.wanted)
	return standing == service.Absent, err
}

// notKept says what to do about a daemon that no manager keeps.
func (a *app) notKept(k *keeper) error {
	hint := "start it: " + a.command("start")
	if _, held := service.HolderOf(k.home); held {
		hint = "into a new release: " + a.command("restart --when-idle") + "; else " + a.command("stop") + ", and " + a.command("start")
	}
	return failf(exitFailed, hint, "%s does not keep the daemon of this home, so it cannot restart it", k.Name())
}

// cutLimit is for a daemon that may hang, which is why it is restarted.
const cutLimit = 3 * time.Second

// sayCut tells what a restart at once ends.
func (a *app) sayCut() {
	ctx, cancel := context.WithTimeout(a.ctx, cutLimit)
	defer cancel()
	var runs []string
	err := a.exchange(ctx, func(ctx context.Context, client *bus.Client) error {
		status, err := client.Control(ctx, wire.DelegationsCommand{})
		for _, e := range status.Delegations.Entries {
			if e.OwnerPID == status.PID && e.IdleSinceUnixSeconds == nil { // others outlive the daemon, or are taken up again
				runs = append(runs, line(e.Handle))
			}
		}
		return err
	})
	switch {
	case err != nil:
		a.note("the daemon does not answer; it is restarted all the same")
	case len(runs) > 0:
		a.note("this cuts %s; scv restart --when-idle waits for what is at work", strings.Join(runs, ", "))
	}
}
