package main

import (
	"context"
	"errors"
	"time"

	"scv/wire"
	"scv/wire/bus"
)

// catchUp is how often a waiting chat asks for lines it may have missed: an event is a hint, the
// daemon's store is the truth.
const catchUp = 15 * time.Second

// errTooLong is the end of a wait for an answer.
var errTooLong = errors.New("no answer in time")

// exchange is one message and the wait for its answer, across restarts of the daemon.
type exchange struct {
	a      *app
	id     string // of the message; sending it again is the same message
	text   string
	sent   bool
	seen   uint64   // newest line of the chat that was looked at
	parts  []string // of an answer whose last part tells whose it is
	done   bool
	failed bool
	doing  func(text string) // what its agent does meanwhile
}

// sendOne sends a message and prints its answer. A failed turn was told on stderr and is ended(1).
func (a *app) sendOne(text string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(a.ctx, timeout, errTooLong)
	defer cancel()
	e := &exchange{a: a, id: randomID(), text: text, doing: func(text string) { a.note("· %s", line(text)) }}
	err := a.stay(ctx, e.work)
	switch {
	case e.done:
		return e.show()
	case errors.Is(context.Cause(ctx), errTooLong):
		return failf(exitFailed, "the message is not lost; its answer will show in: "+a.command("chat"),
			"no answer within %s", timeout)
	}
	return a.explain(err)
}

// work sends the message where that is still to be done, and reads lines until its answer came. It
// listens before it catches up, so that no line falls in between.
func (e *exchange) work(ctx context.Context, client *bus.Client) error {
	if !e.sent {
		sent, err := client.ChatSend(ctx, wire.ChatSend{Account: localAccount, ID: e.id, Text: e.text})
		if err != nil {
			return err
		}
		e.sent, e.seen = true, sent.Seq
	}
	lines, err := client.WatchChat(ctx, localAccount)
	if err != nil {
		return err
	}
	again := time.NewTicker(e.a.pace.catchUp)
	defer again.Stop()
	for {
		if err := e.catchUp(ctx, client); err != nil || e.done {
			return err
		}
		if err := e.listen(ctx, lines, again.C); err != nil || e.done {
			return err
		}
	}
}

// catchUp reads what the chat showed since the newest line seen.
func (e *exchange) catchUp(ctx context.Context, client *bus.Client) error {
	seen := e.seen
	got, err := client.ChatAttach(ctx, wire.ChatAttach{Account: localAccount, AfterSeq: &seen})
	if err != nil {
		return err
	}
	for _, l := range got.Lines {
		e.take(l)
	}
	return nil
}

// listen takes lines as they come. It returns when the daemon should be asked: now and then, and when
// a line was missed.
func (e *exchange) listen(ctx context.Context, lines <-chan wire.ChatLine, again <-chan time.Time) error {
	for !e.done {
		select {
		case l, open := <-lines:
			if !open { // the connection is gone
				return errAway
			}
			if l.Seq > e.seen+1 {
				return nil
			}
			e.take(l)
		case <-again:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// take looks at the next line of the chat. The parts of an answer come one after the other, and only
// the last names the message that it answers.
func (e *exchange) take(l wire.ChatLine) {
	if l.Seq <= e.seen || e.done {
		return
	}
	e.seen = l.Seq
	switch {
	case l.Kind == wire.ChatProgress: // the local chat is one conversation: what is at work is ours, or before ours
		e.doing(l.Text)
	case l.InReplyTo == nil && l.Kind == wire.ChatReply:
		e.parts = append(e.parts, l.Text)
	case l.InReplyTo == nil:
	case *l.InReplyTo != e.id:
		e.parts = nil
	default:
		e.finish(l)
	}
}

func (e *exchange) finish(l wire.ChatLine) {
	e.done, e.failed = true, l.Kind == wire.ChatFailure
	e.parts = append(e.parts, l.Text)
}

// show prints the answer.
func (e *exchange) show() error {
	last := len(e.parts) - 1
	for i, part := range e.parts {
		if e.failed && i == last {
			e.a.note("scv: %s", body(part))
			return ended(exitFailed)
		}
		e.a.say("%s", body(part))
	}
	return nil
}
