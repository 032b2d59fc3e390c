package daemon

import (
	"context"
	"errors"
	"strings"

	"scv/daemon/channel/local"
	"scv/daemon/confirm"
	"scv/internal/failpoint"
	"scv/store"
	"scv/wire"
)

// maxChatID is the longest message id a terminal may choose, in bytes.
const maxChatID = 64

// handleChatSend takes what the owner typed; it replies once that is durable.
func (d *Daemon) handleChatSend(ctx context.Context, _ call, ask wire.ChatSend) (wire.ChatSent, error) {
	id, err := checkNames("local", ask.Account)
	if err != nil {
		return wire.ChatSent{}, err
	}
	if err := checkChatSend(ask); err != nil {
		return wire.ChatSent{}, err
	}
	seq, repeated := d.findLine(id, ask.ID)
	if repeated && !failpoint.Broken(failpoint.BrokenDedup) {
		return wire.ChatSent{ID: ask.ID, Seq: seq, Duplicate: true}, nil
	}
	adapter, there := d.locals.get(id)
	if !there {
		return wire.ChatSent{}, notRunning(id)
	}
	err = adapter.Say(ctx, local.Said{ID: ask.ID, Text: ask.Text, At: d.clock.Now().Wall, Terminal: ask.Terminal})
	if errors.Is(err, local.ErrNotRunning) {
		return wire.ChatSent{}, notRunning(id)
	}
	if err != nil {
		return wire.ChatSent{}, err
	}
	seq, kept := d.findLine(id, ask.ID)
	if !kept {
		return wire.ChatSent{}, wire.Refuse(wire.ComponentError, "%s took the message and does not answer its sender: see scv channels", id)
	}
	d.publishLine(id, seq)
	return wire.ChatSent{ID: ask.ID, Seq: seq}, nil
}

func notRunning(id string) error {
	return wire.Refuse(wire.ComponentError, "%s is not running: scv status says why; scv channels enable %s starts it", id, id)
}

func checkChatSend(ask wire.ChatSend) error {
	valid := func(r rune) bool {
		return r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	}
	switch {
	case ask.ID == "" || len(ask.ID) > maxChatID || strings.IndexFunc(ask.ID, func(r rune) bool { return !valid(r) }) >= 0:
		return wire.Refuse(wire.InvalidRequest, "a message id has 1 to %d of A-Z a-z 0-9 - _", maxChatID)
	case strings.TrimSpace(ask.Text) == "":
		return wire.Refuse(wire.InvalidRequest, "the message is empty")
	case len(ask.Text) > wire.MaxChatText:
		return wire.Refuse(wire.InvalidRequest, "the message has %d bytes, more than %d: put it into a file and name that", len(ask.Text), wire.MaxChatText)
	}
	return nil
}

func (d *Daemon) findLine(account, messageID string) (seq uint64, known bool) {
	err := d.store.View(func(v *store.View) error {
		seq, known = v.FindChatMessage(account, messageID)
		return nil
	})
	if err != nil {
		d.log.Error("cannot read the chat", "account", account, "err", err)
	}
	return seq, known
}

// handleChatAttach tells a terminal what it missed, and what waits for an answer.
func (d *Daemon) handleChatAttach(_ context.Context, _ call, ask wire.ChatAttach) (wire.ChatAttached, error) {
	id, err := checkNames("local", ask.Account)
	if err != nil {
		return wire.ChatAttached{}, err
	}
	reply := wire.ChatAttached{Lines: []wire.ChatLine{}, Questions: []wire.ConfirmDetail{}}
	err = d.store.View(func(v *store.View) error {
		if _, known := v.Account(id); !known {
			return wire.Refuse(wire.ComponentError, "no account %q: scv channels lists those there are", id)
		}
		reply.NewestSeq = v.NewestChatSeq(id)
		if ask.AfterSeq != nil {
			for _, row := range v.ChatLines(id, *ask.AfterSeq, wire.MaxChatBacklog) {
				reply.Lines = append(reply.Lines, chatLine(row))
			}
		}
		for _, c := range v.OpenConfirms() {
			if c.Account == id && !c.Opened.IsZero() {
				reply.Questions = append(reply.Questions, confirm.Detail(confirm.Question(c)))
			}
		}
		return nil
	})
	return reply, err
}
