package main

import (
	"strings"
	"time"

	"scv/wire"
)

type questionsShow struct {
	ID   literal `arg:"" help:"The question's id, as scv questions shows it."`
	JSON bool    `help:"Print the daemon's own answer (ConfirmDetail)."`
}

func (c *questionsShow) Run(a *app) error {
	detail, err := a.showQuestion(string(c.ID))
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(detail)
	}
	a.printQuestion(detail)
	return nil
}

func (a *app) printQuestion(d wire.ConfirmDetail) {
	t := table{}
	field := func(name, value string, look style) {
		if value != "" {
			t.row(cell{name, dim}, cell{value, look})
		}
	}
	field("question", d.Confirm.ID+" (code "+d.Code+")", plain)
	field("state", string(d.Confirm.State), confirmStyle(d.Confirm.State))
	field("chat", d.Confirm.Chat, plain)
	field("asked by", orDash(d.Asker), plain)
	field("asked", dateTime(d.AskedUnixSeconds), plain)
	if d.OpenedUnixMillis != nil {
		field("delivered", dateTime(*d.OpenedUnixMillis/1000), plain)
	}
	field("deadline", dateTime(d.Confirm.DeadlineUnixSeconds), plain)
	if d.EndedUnixSeconds != nil {
		field("ended", dateTime(*d.EndedUnixSeconds), plain)
	}
	if r := d.Receipt; r != nil {
		field("answer", r.Word+" by "+r.Sender+" in "+r.Chat+", message "+r.MessageID+", "+dateTime(r.AtUnixMillis/1000), plain)
		field("sha256", r.QuestionSHA256, plain)
	}
	t.write(a.stdout, a.colour)
	a.say("\n  %s", strings.ReplaceAll(body(d.Question), "\n", "\n  "))
}

func dateTime(seconds uint64) string { return unixTime(seconds).Local().Format(time.DateTime) }
