package main

import (
	"context"
	"fmt"
	"strings"

	"scv/wire"
	"scv/wire/bus"
)

type statusCmd struct {
	JSON bool `help:"Print the daemon's own answer (DaemonStatus)."`
}

func (c *statusCmd) Run(a *app) error {
	var status wire.DaemonStatus
	questions := -1 // unknown
	err := a.call(readLimit, func(ctx context.Context, client *bus.Client) (err error) {
		if status, err = client.Control(ctx, wire.StatusCommand{}); err != nil || c.JSON {
			return err
		}
		// An agent's shell may not list the questions: then there is no line for them.
		if list, err := client.ConfirmList(ctx, wire.ConfirmListRequest{}); err == nil {
			questions = len(list.Confirms)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(status)
	}
	a.printStatus(status, questions)
	return nil
}

func (a *app) printStatus(s wire.DaemonStatus, questions int) {
	t := table{}
	t.row(cell{"daemon", dim}, cell{fmt.Sprintf("scv %s, pid %d, home %s", s.Version, s.PID, a.homeName()), plain})
	if s.Version != thisBuild().Version {
		t.row(cell{"", dim}, cell{"this scv is " + thisBuild().Version + "; the daemon still runs another version", warn})
	}
	t.row(cell{"agents", dim}, cell{delegationLine(s.Delegations), plain})
	if questions > 0 {
		t.row(cell{"questions", dim}, cell{fmt.Sprintf("%d open: %s", questions, a.command("confirm list")), warn})
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
		fmt.Fprintf(&b, ", %d orphaned ones stopped", d.Reaped)
	}
	return b.String()
}

func (a *app) restartLine(r wire.RestartInfo) string {
	if r.WaitingFor == nil {
		return "restarting into " + r.ToVersion
	}
	return fmt.Sprintf("into %s, waiting for %s until %s", r.ToVersion, *r.WaitingFor, a.clockTime(r.DeadlineUnixSeconds))
}
