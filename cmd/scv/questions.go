package main

import (
	"context"

	"scv/wire"
	"scv/wire/bus"
)

type questionsCmds struct {
	List questionsList `cmd:"" default:"withargs" help:"List the open questions."`
	Show questionsShow `cmd:"" help:"Show one question and how it was answered."`
}

func (*questionsCmds) Help() string { return listsAlone("questions") }

type questionsList struct {
	All  bool `help:"Also those that ended within 24 hours."`
	JSON bool `help:"Print the daemon's own answer (ConfirmList)."`
}

func (c *questionsList) Run(a *app) error {
	var list wire.ConfirmList
	err := a.call(readLimit, func(ctx context.Context, client *bus.Client) (err error) {
		list, err = client.ConfirmList(ctx, wire.ConfirmListRequest{All: c.All})
		return err
	})
	if err != nil {
		return err
	}
	switch {
	case c.JSON:
		return a.printJSON(list)
	case len(list.Confirms) == 0 && c.All:
		a.say("no question was asked in the last 24 hours")
	case len(list.Confirms) == 0:
		a.say("no open question")
	default:
		a.printQuestions(list.Confirms)
	}
	return nil
}

func (a *app) printQuestions(list []wire.ConfirmDetail) {
	t := table{most: a.width()}
	t.head("ID", "CODE", "STATE", "CHAT", "UNTIL", "ASKED BY", "QUESTION")
	for _, d := range list {
		t.row(cell{d.Confirm.ID, plain}, cell{d.Code, plain}, cell{string(d.Confirm.State), confirmStyle(d.Confirm.State)},
			cell{d.Confirm.Chat, plain}, cell{a.clockTime(d.Confirm.DeadlineUnixSeconds), plain},
			cell{orDash(d.Asker), plain}, cell{d.Question, plain})
	}
	t.write(a.stdout, a.colour)
}

func confirmStyle(s wire.ConfirmState) style {
	switch s {
	case wire.Yes:
		return good
	case wire.No, wire.NotAsked:
		return bad
	case wire.Pending:
		return warn
	case wire.Expired, wire.Withdrawn, wire.Unknown:
		return dim
	}
	return plain
}
