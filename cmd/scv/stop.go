package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"scv/daemon/service"
	"scv/wire"
	"scv/wire/bus"
)

type stopCmd struct{}

func (*stopCmd) Help() string {
	return "What scv start has installed stays: the daemon comes back with your next login, or with scv start. A daemon " +
		"that the service manager does not keep is asked to end by SIGTERM, once it is certain that it is the one which " +
		"holds this home. Runs that the daemon began end with it; an scv delegate that works in a shell goes on, and is " +
		"named. Exit code: 0 none runs any more, 1 one still does."
}

func (*stopCmd) example() string { return "scv stop" }

func (c *stopCmd) Run(a *app) error {
	k, err := a.forPerson("stop")
	if err != nil {
		return err
	}
	_, others, _ := a.runsAtWork() // a daemon that does not answer can still be stopped
	stopped, err := a.stopUnit(k)
	if err != nil {
		return err
	}
	h, held := service.HolderOf(k.home)
	if !held {
		if err := a.noneServes(); err != nil {
			return err
		}
		if !stopped {
			a.say("no daemon runs for %s", line(k.home))
		}
		a.sayGoesOn(others)
		return nil
	}
	a.note("%s does not keep the daemon that serves here, pid %d: asking it to stop", k.Name(), h.PID)
	if err := h.End(a.ctx); err != nil {
		if a.ctx.Err() != nil {
			return errInterrupted
		}
		return failf(exitFailed, "see "+a.command("logs"), "%w", err)
	}
	a.say("the daemon has stopped, pid %d", h.PID)
	a.sayGoesOn(others)
	if again, held := service.HolderOf(k.home); held {
		return failf(exitFailed, "stop it where it is kept running", "somebody has started it again, pid %d", again.PID)
	}
	return nil
}

// noneServes is nil if no daemon can be reached either. That daemon.lock names none is no proof: it may be another
// user's, or spoilt.
func (a *app) noneServes() error {
	status, err := a.askOnce(a.ctx)
	switch {
	case errors.Is(err, bus.ErrNoDaemon):
		return nil
	case err != nil:
		return a.explain(err)
	}
	return failf(exitFailed, fmt.Sprintf("end it: kill %d", status.PID),
		"a daemon serves here with pid %d, but daemon.lock does not name it, so it is not certain that it is this one", status.PID)
}

// stopUnit stops what the manager keeps, if it is there and keeps anything. Without a unit it is not asked.
func (a *app) stopUnit(k *keeper) (stopped bool, err error) {
	if standing, _, err := service.Installed(k, k.wanted); err == nil && standing == service.Absent {
		return false, nil
	}
	st, err := k.State(a.ctx)
	if err != nil { // one that is not there keeps nothing
		a.note("%s cannot be asked about %s: %s", k.Name(), line(k.Unit()), line(err.Error()))
		return false, nil
	}
	if !st.Active {
		return false, nil
	}
	if err := k.Stop(a.ctx); err != nil {
		if a.ctx.Err() != nil {
			return false, errInterrupted
		}
		return false, failf(exitFailed, "", "cannot stop %s: %w", k.Unit(), err)
	}
	a.say("%s has stopped %s", k.Name(), line(k.Unit()))
	_, forget := k.Advice()
	a.note("it starts again with your next login; for good: %s", line(forget))
	return true, nil
}

// sayGoesOn names the runs that did not end with the daemon: the next one takes them on record again.
func (a *app) sayGoesOn(runs []string) {
	if len(runs) > 0 {
		a.note("still at work, each in the shell of its scv delegate: %s", strings.Join(runs, ", "))
	}
}

// runsAtWork are the runs that end with the daemon, and those that other processes own and that go on.
func (a *app) runsAtWork() (daemons, others []string, err error) {
	ctx, cancel := context.WithTimeout(a.ctx, cutLimit)
	defer cancel()
	err = a.exchange(ctx, func(ctx context.Context, client *bus.Client) error {
		status, err := client.Control(ctx, wire.DelegationsCommand{})
		for _, e := range status.Delegations.Entries {
			switch {
			case e.OwnerPID != status.PID:
				others = append(others, line(e.Handle))
			case e.IdleSinceUnixSeconds == nil: // one without a turn is taken up again
				daemons = append(daemons, line(e.Handle))
			}
		}
		return err
	})
	return daemons, others, err
}
