package main

import (
	"context"
	"fmt"

	"scv/wire"
	"scv/wire/bus"
)

type delegationCmds struct {
	List delegationList `cmd:"" default:"withargs" help:"List running agent runs."`
	Kill delegationKill `cmd:"" help:"Stop one run, or every orphaned one."`
}

func (*delegationCmds) Help() string { return listsAlone("delegations") }

type delegationList struct {
	All   bool   `help:"Also orphans that await clean-up."`
	JSON  bool   `help:"Print the daemon's own answer (DelegationSummary; with --why DelegationEvidence)."`
	Watch bool   `help:"Show the list again whenever it changes, until Ctrl-C."`
	Why   string `placeholder:"HANDLE" help:"Tell by what each process of this run is known to belong to it."`
}

func (c *delegationList) Run(a *app) error {
	switch {
	case c.Why != "":
		return c.explain(a)
	case c.Watch:
		return a.watchLooks(c.JSON, func(quiet *app) (look, error) { return c.look(quiet) })
	}
	l, err := c.look(a)
	if err != nil {
		return err
	}
	return l.print(a, c.JSON)
}

// delegationLook is what the daemon said of the runs.
type delegationLook struct{ summary wire.DelegationSummary }

func (c *delegationList) look(a *app) (l delegationLook, err error) {
	var status wire.DaemonStatus
	err = a.call(readLimit, func(ctx context.Context, client *bus.Client) (err error) {
		status, err = client.Control(ctx, wire.DelegationsCommand{All: c.All})
		return err
	})
	return delegationLook{status.Delegations}, err
}

func (l delegationLook) print(a *app, json bool) error {
	if json {
		return a.printJSON(l.summary)
	}
	a.printDelegations(l.summary)
	return nil
}

// still is the look without what only grows older.
func (l delegationLook) still() look {
	entries := make([]wire.DelegationInfo, len(l.summary.Entries))
	copy(entries, l.summary.Entries)
	for i := range entries {
		entries[i].StartedUnixSeconds, entries[i].IdleSinceUnixSeconds = 0, nil
	}
	l.summary.Entries = entries
	return l
}

func (a *app) printDelegations(d wire.DelegationSummary) {
	if len(d.Entries) == 0 {
		a.say("no agent is running")
		return
	}
	t := table{}
	t.head("HANDLE", "STATE", "AGE", "FOR", "PID", "PROCESSES", "FOLDER")
	for _, e := range d.Entries {
		state, look := a.runState(e)
		t.row(cell{e.Handle, plain}, cell{state, look},
			cell{roughly(a.now().Sub(unixTime(e.StartedUnixSeconds))), plain}, cell{purpose(e), plain}, count(e.PID),
			count(e.Processes), cell{e.Cwd, plain})
	}
	t.write(a.stdout, a.colour)
}

// purpose is whose work a run does: a turn of a conversation, or a session that no chat waits for.
func purpose(e wire.DelegationInfo) string {
	text := e.Session
	if e.Conversation != nil {
		text = *e.Conversation
		if e.Turn != nil && *e.Turn > 0 {
			text = fmt.Sprintf("%s, turn %d", text, *e.Turn)
		}
	}
	if e.Depth > 1 {
		text += fmt.Sprintf(" (level %d)", e.Depth)
	}
	return text
}

func count(n uint32) cell { return cell{fmt.Sprint(n), plain} }

func (a *app) runState(e wire.DelegationInfo) (string, style) {
	switch {
	case e.Orphaned:
		return "orphaned", bad
	case e.BackgroundJobs != nil && *e.BackgroundJobs > 0:
		return fmt.Sprintf("%d background jobs", *e.BackgroundJobs), good
	case e.IdleSinceUnixSeconds != nil:
		return "idle " + roughly(a.now().Sub(unixTime(*e.IdleSinceUnixSeconds))), dim
	case e.Conversation != nil && e.Turn == nil:
		return "background", good
	}
	return "working", good
}
