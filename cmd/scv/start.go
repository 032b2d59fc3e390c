package main

import (
	"strings"

	"scv/daemon/service"
)

type startCmd struct {
	Force bool `help:"Write the unit anew even if you have edited it."`
}

func (*startCmd) Help() string {
	return "It installs a unit of your own systemd (a launch agent on macOS) for this scv, this home and the PATH of " +
		"this shell, has it started now and with each login, and waits until the daemon answers. Once more, it brings the " +
		"unit up to date and changes nothing else. Exit code: 0 it serves, 1 it does not, or there is no service manager."
}

func (*startCmd) example() string { return "scv start" }

func (c *startCmd) Run(a *app) error {
	k, err := a.forPerson("start")
	if err == nil {
		err = a.reach(k)
	}
	if err != nil {
		return err
	}
	st, err := k.State(a.ctx)
	if err != nil {
		return err
	}
	if h, is := k.stranger(st); is && !h.StandIn { // a stand-in makes room by itself
		return failf(exitFailed, "end it first: "+a.command("stop"),
			"a daemon that %s does not keep serves this home already, pid %d", k.Name(), h.PID)
	}
	changed, err := c.install(a, k)
	if err != nil {
		return err
	}
	if err := k.Start(a.ctx); err != nil {
		return failf(exitFailed, "", "cannot start %s: %w", k.Unit(), err)
	}
	status, err := a.awaitServing(k, 0)
	if err != nil {
		return err
	}
	a.say("scv %s serves %s, pid %d, kept running by %s as %s", line(status.Version), line(k.home), status.PID, k.Name(), line(k.Unit()))
	if changed && st.PID == int(status.PID) {
		a.note("it still runs as the unit was before; to change that: %s", a.command("restart --when-idle")+", or at once: "+a.command("restart"))
	}
	a.sayLinger(k)
	return nil
}

// install writes the file of the unit where that is needed.
func (c *startCmd) install(a *app, k *keeper) (changed bool, err error) {
	standing, differs, err := service.Installed(k, k.wanted)
	switch {
	case err != nil:
		return false, err
	case standing == service.Current:
		return false, nil
	case standing == service.Edited && !c.Force:
		if len(differs) == 0 {
			return false, nil // what the person has changed is none of our business
		}
		return false, failf(exitFailed, "change it there yourself, or lose your edits: "+a.command("start --force"),
			"%s was edited, and says something else of %s than this shell", k.File(), strings.Join(differs, " and "))
	}
	if err := service.Install(k, k.wanted); err != nil {
		return false, err
	}
	what := "wrote"
	if standing == service.Stale && len(differs) > 0 {
		what = "brought up to date (" + strings.Join(differs, ", ") + "):"
	}
	a.note("%s %s", what, line(k.File()))
	return true, nil
}

// sayLinger tells of what ends the daemon with the session.
func (a *app) sayLinger(k *keeper) {
	if on, known := k.linger(a); known && !on {
		a.note("it ends when you log out, and starts when you log in; for all the time the machine runs: loginctl enable-linger")
	}
}

func (k *keeper) linger(a *app) (on, known bool) {
	if k.Name() != "systemd" {
		return false, false
	}
	return service.Linger(a.ctx, k.place, a.getenv("USER"))
}
