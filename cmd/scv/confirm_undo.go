package main

import (
	"context"
	"time"

	"scv/wire"
	"scv/wire/bus"
)

// aftermathLimit bounds what is still to be done after an answer. A daemon that just went away is waited for so
// long: a crash under a service manager takes it away for a few seconds.
const aftermathLimit = 30 * time.Second

// noLongerWaits is why a yes that came in the moment of an interrupt starts nothing.
const noLongerWaits = "who asked no longer waits for it"

// aftermath does one exchange after an answer, also over a restart of the daemon, until an interrupt.
func (a *app) aftermath(ask func(context.Context, *bus.Client) error) error {
	ctx, cancel := context.WithTimeout(bus.WithRequestID(a.ctx, randomID()), aftermathLimit)
	defer cancel()
	return a.explain(a.goOn(ctx, true, ask))
}

// takeBack tells the owner that a yes starts nothing after all: the chat said that it goes ahead. It is told
// once, however often it has to be tried, and also after an interrupt, though then not for long.
func (a *app) takeBack(info wire.ConfirmInfo, question, why string) {
	if info.State != wire.Yes {
		return
	}
	last, cancelLast := linger(a.ctx, lastWords)
	defer cancelLast()
	ctx, cancel := context.WithTimeout(bus.WithRequestID(last, randomID()), aftermathLimit)
	defer cancel()
	text := "Not going ahead after your yes, since " + why + ": " + question
	err := a.goOn(ctx, true, func(ctx context.Context, client *bus.Client) error {
		_, err := client.Notify(ctx, text)
		return err
	})
	if err != nil {
		a.note("scv: the owner could not be told that nothing follows from the yes: %s", line(err.Error()))
	}
}
