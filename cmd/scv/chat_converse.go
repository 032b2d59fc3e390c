package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"scv/wire"
	"scv/wire/bus"
)

// conversation is an open chat on a terminal.
type conversation struct {
	a      *app
	typed  <-chan string   // lines of the person; closed at the end of input
	unsent *wire.ChatSend  // typed and not yet known to be stored
	seen   *uint64         // newest line shown; nil before the first attach
	mine   map[string]bool // ids of what was typed here: it stands on the screen already
	over   bool
}

// work is the chat over one connection. It looks, listens, and looks again for what fell in between:
// whoever may not look is told so by the daemon.
func (c *conversation) work(ctx context.Context, client *bus.Client) error {
	if err := c.attach(ctx, client); err != nil {
		return err
	}
	lines, err := client.WatchChat(ctx, localAccount)
	if err != nil {
		return err
	}
	again := time.NewTicker(c.a.pace.catchUp)
	defer again.Stop()
	for attach := true; ; {
		if attach {
			if err := c.attach(ctx, client); err != nil {
				return err
			}
		}
		if err := c.send(ctx, client); err != nil {
			return err
		}
		if attach, err = c.next(ctx, lines, again.C); err != nil || c.over {
			return err
		}
	}
}

// next takes one thing that happens, and says whether the daemon should be asked for lines.
func (c *conversation) next(ctx context.Context, lines <-chan wire.ChatLine, again <-chan time.Time) (attach bool, err error) {
	select {
	case text, open := <-c.typed:
		c.over = !open
		c.compose(text)
	case l, open := <-lines:
		if !open { // the connection is gone
			return false, errAway
		}
		if l.Seq > *c.seen+1 {
			return true, nil
		}
		c.show(l)
	case <-again:
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
	return false, nil
}

func (c *conversation) compose(text string) {
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	if len(text) > wire.MaxChatText {
		c.a.note("scv: not sent: a message holds at most %d bytes", wire.MaxChatText)
		return
	}
	c.unsent = &wire.ChatSend{Account: localAccount, ID: randomID(), Text: text, Terminal: true}
	c.mine[c.unsent.ID] = true
}

// send brings what was typed to the daemon. A refusal is shown and the chat goes on.
func (c *conversation) send(ctx context.Context, client *bus.Client) error {
	if c.unsent == nil {
		return nil
	}
	_, err := client.ChatSend(ctx, *c.unsent)
	var refused *wire.Error
	if errors.As(err, &refused) {
		c.a.note("scv: not sent: %s", line(refused.Text))
		err = nil
	}
	if err == nil {
		c.unsent = nil
	}
	return err
}

// attach shows what was missed; the first time only the questions that are open, as the chat showed them: in
// their frame, so that what they say cannot pass for anybody else's words.
func (c *conversation) attach(ctx context.Context, client *bus.Client) error {
	got, err := client.ChatAttach(ctx, wire.ChatAttach{Account: localAccount, AfterSeq: c.seen, Terminal: true})
	if err != nil {
		return err
	}
	if c.seen == nil {
		for _, q := range got.Questions {
			c.print(wire.ChatQuestion, q.Message())
		}
		c.seen = &got.NewestSeq
	}
	for _, l := range got.Lines {
		c.show(l)
	}
	return nil
}

func (c *conversation) show(l wire.ChatLine) {
	if l.Seq <= *c.seen {
		return
	}
	*c.seen = l.Seq
	if l.MessageID != nil && c.mine[*l.MessageID] {
		delete(c.mine, *l.MessageID)
		return
	}
	c.print(l.Kind, l.Text)
}

// print shows whose words a text is by a mark before every line, which no text can forge.
func (c *conversation) print(kind wire.ChatLineKind, text string) {
	mark, look := "  ", plain
	switch kind {
	case wire.ChatOwner:
		mark, look = "> ", dim
	case wire.ChatFailure:
		mark, look = "! ", bad
	case wire.ChatNotice, wire.ChatProgress:
		mark, look = "- ", dim
	case wire.ChatQuestion:
		mark, look = "? ", warn
	case wire.ChatReply:
	}
	for part := range strings.Lines(body(text)) {
		c.a.say("%s", paint(mark+strings.TrimSuffix(part, "\n"), look, c.a.colour))
	}
}
