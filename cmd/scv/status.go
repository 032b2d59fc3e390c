package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"scv/wire"
	"scv/wire/bus"
)

type statusCmd struct {
	JSON  bool `help:"Print the daemon's own answer (DaemonStatus)."`
	Watch bool `short:"w" help:"Go on until Ctrl-C: drawn anew on a terminal, elsewhere once for each change."`
}

func (c *statusCmd) Run(a *app) error {
	if c.Watch {
		return a.watchLooks(c.JSON, func(quiet *app) (look, error) { return quiet.lookAtStatus(c.JSON) })
	}
	look, err := a.lookAtStatus(c.JSON)
	if err != nil {
		return err
	}
	return look.print(a, c.JSON)
}

// statusLook is what a daemon said of itself at one moment.
type statusLook struct {
	status    wire.DaemonStatus
	questions int // open ones; -1 is unknown
}

func (a *app) lookAtStatus(json bool) (statusLook, error) {
	look := statusLook{questions: -1}
	err := a.call(readLimit, func(ctx context.Context, client *bus.Client) (err error) {
		if look.status, err = client.Control(ctx, wire.StatusCommand{}); err != nil || json {
			return err
		}
		// An agent's shell may not list the questions: then there is no line for them.
		if list, err := client.ConfirmList(ctx, wire.ConfirmListRequest{}); err == nil {
			look.questions = len(list.Confirms)
		}
		return nil
	})
	return look, err
}

// still is the look without its ages.
func (l statusLook) still() look {
	l.status.Components = slices.Clone(l.status.Components)
	for i := range l.status.Components {
		l.status.Components[i].LastSuccessUnixSeconds = nil
	}
	return l
}

func (l statusLook) print(a *app, json bool) error {
	if json {
		return a.printJSON(l.status)
	}
	a.printStatus(l.status, l.questions)
	return nil
}

func (a *app) printStatus(s wire.DaemonStatus, questions int) {
	t := table{}
	t.row(cell{"daemon", dim}, cell{fmt.Sprintf("scv %s, pid %d, home %s", s.Version, s.PID, a.homeName()), plain})
	if s.Version != thisBuild().Version {
		t.row(cell{"", dim}, cell{"this scv is " + thisBuild().Version + "; the daemon still runs another version. To go over: " + a.command("restart --when-idle"), warn})
	}
	t.row(cell{"agents", dim}, cell{delegationLine(s.Delegations), plain})
	if questions > 0 {
		t.row(cell{"questions", dim}, cell{fmt.Sprintf("%d open: %s", questions, a.command("questions")), warn})
	}
	if s.Restart != nil {
		t.row(cell{"restart", dim}, cell{a.restartLine(*s.Restart), warn})
	}
	t.write(a.stdout, a.colour)
	a.say("")
	a.printComponents(s.Components)
}

func delegationLine(d wire.DelegationSummary) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d running", d.Active)
	if d.Idle != nil && *d.Idle > 0 {
		fmt.Fprintf(&b, " (%d idle)", *d.Idle)
	}
	if d.Reaped > 0 {
		fmt.Fprintf(&b, ", %s stopped", counted(d.Reaped, "orphan"))
	}
	return b.String()
}

func (a *app) restartLine(r wire.RestartInfo) string {
	if r.WaitingFor == nil {
		return "restarting into " + r.ToVersion
	}
	return fmt.Sprintf("into %s, waiting for %s until %s", r.ToVersion, *r.WaitingFor, a.clockTime(r.DeadlineUnixSeconds))
}
