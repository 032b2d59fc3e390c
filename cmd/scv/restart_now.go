package main

import (
	"strings"
	"time"

	"scv/daemon/service"
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
		return failf(exitNoDaemon, "start it: "+a.command("start"), "%s does not run: %s", line(k.Unit()), line(st.Words))
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
	start := a.command("run")
	if a.canKeep(k) {
		start = a.command("start")
	}
	if _, held := service.HolderOf(k.home); !held {
		if err := a.noneServes(); err != nil {
			return err
		}
		return failf(exitNoDaemon, "start it: "+start, "no daemon is running for %s", line(k.home))
	}
	return failf(exitFailed, "into a new release: "+a.command("restart --when-idle")+"; else "+a.command("stop")+", and "+start,
		"%s does not keep the daemon of this home, so it cannot restart it", k.Name())
}

// cutLimit is for a daemon that may hang, which is why it is restarted.
const cutLimit = 3 * time.Second

// sayCut tells what a restart at once ends.
func (a *app) sayCut() {
	runs, _, err := a.runsAtWork()
	switch {
	case err != nil:
		a.note("the daemon does not answer; it is restarted all the same")
	case len(runs) > 0:
		a.note("this cuts %s; scv restart --when-idle waits for what is at work", strings.Join(runs, ", "))
	}
}
