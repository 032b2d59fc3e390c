package main

import (
	"context"
	"strings"
	"unicode/utf8"

	"scv/wire"
	"scv/wire/bus"
)

type notifyCmd struct {
	Text literal `arg:"" help:"What to say, in quotes; it is shown on one line."`
}

func (*notifyCmd) Help() string {
	return "It returns once the line is kept, and so survives whatever comes; nobody has to answer it. The chat is the one where " +
		"scv confirm would ask, and says who speaks: an agent's run, or a script. A line that starts with a dash goes after --."
}

func (*notifyCmd) example() string { return `scv notify "The backup is done"` }
func (*notifyCmd) stray() string   { return "put the text in quotes" }

func (a *app) notify(text string) (sent wire.Notified, err error) {
	err = a.call(changeLimit, func(ctx context.Context, client *bus.Client) (err error) {
		sent, err = client.Notify(ctx, text)
		return err
	})
	return sent, err
}

func (c *notifyCmd) Run(a *app) error {
	text := string(c.Text)
	switch {
	case strings.TrimSpace(text) == "":
		return failf(exitUsage, "try: "+c.example(), "the text is empty")
	case !utf8.ValidString(text):
		return failf(exitUsage, notText, "the text is not UTF-8, so it was not sent")
	}
	sent, err := a.notify(text)
	if err != nil {
		return err
	}
	if a.watched {
		a.note("told in %s", line(sent.Chat))
	}
	return nil
}
