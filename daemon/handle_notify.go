package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync"
	"time"

	"scv/daemon/channel"
	"scv/daemon/confirm"
	"scv/internal/clock"
	"scv/store"
	"scv/wire"
)

// Bounds of daemon.notify (docs/rules.md §10): a loop must not bury what the owner has to read.
const (
	noticesSpan       = time.Hour
	maxNoticesOfRun   = 30  // of an outermost run and all that it started
	maxNoticesOutside = 300 // of all that no run has sent
	journalRead       = 4096
	kindNotified      = "notified"
)

// notices remembers what was sent within an hour, for the bounds and so that a repeat is one line. The
// journal has it too, from which a new daemon learns it.
type notices struct {
	mu     sync.Mutex
	loaded bool
	sent   map[string]sentNotice // by id
}

type sentNotice struct {
	who, account string
	at           clock.Stamp
}

// handleNotify queues one line for the owner, by the same choice of a chat as a question, and replies
// once it is durable.
func (d *Daemon) handleNotify(ctx context.Context, c call, ask wire.Notify) (wire.Notified, error) {
	text := strings.TrimSpace(ask.Text)
	switch {
	case text == "":
		return wire.Notified{}, wire.Refuse(wire.InvalidRequest, "the text is empty")
	case len(text) > wire.MaxNotify:
		return wire.Notified{}, wire.Refuse(wire.InvalidRequest, "the text has %d bytes, more than %d: put it into a file and name that", len(text), wire.MaxNotify)
	}
	shown := confirm.ShownNotice(text)
	d.notices.mu.Lock() // one after the other: a repeat finds what became of the first
	defer d.notices.mu.Unlock()
	if err := d.loadNotices(); err != nil {
		return wire.Notified{}, err
	}
	id, now := noticeID(c, text), d.clock.Now()
	if known, repeated := d.notices.sent[id]; repeated {
		return wire.Notified{Chat: known.account, Text: shown}, nil
	}
	account, err := d.sendNotice(ctx, c, id, shown, now)
	if err != nil {
		return wire.Notified{}, err
	}
	d.notices.sent[id] = sentNotice{who: noticesOf(c), account: account, at: now}
	d.wake()
	return wire.Notified{Chat: account, Text: shown}, nil
}

func (d *Daemon) sendNotice(ctx context.Context, c call, id, shown string, now clock.Stamp) (account string, err error) {
	if err := d.notices.admit(noticesOf(c), now); err != nil {
		return "", err
	}
	target, err := d.whomToTell(c)
	if err != nil {
		return "", err
	}
	err = d.store.Deliver(ctx, func(tx *store.Delivery) error {
		if err := tx.AddJournal(kindNotified, noticesOf(c), id+" "+target.Account, nil); err != nil {
			return err
		}
		_, err := tx.AddOutbound(target.Account, store.Outbound{
			Kind: string(channel.Notice), Chat: target.Chat, ClientID: "s" + id, Queued: now,
			Text: confirm.Notice(c.peer.Verdict.Run(), shown),
		})
		return err
	})
	return target.Account, err
}

// noticesOf is on whose account a notice goes: what a run started speaks on the run's.
func noticesOf(c call) string {
	if handles := c.peer.Verdict.Handles; len(handles) > 0 {
		return handles[0]
	}
	return "owner"
}

// noticeID is derived from the request id, so that a repeat is known, and from the text, so that nothing
// else is taken for one.
func noticeID(c call, text string) string {
	if c.requestID == "" {
		return newID()
	}
	sum := sha256.Sum256([]byte(c.peer.Verdict.Run() + "\x00" + c.requestID + "\x00" + text))
	return hex.EncodeToString(sum[:6])
}

// loadNotices reads what an earlier daemon sent.
func (d *Daemon) loadNotices() error {
	if d.notices.loaded {
		return nil
	}
	d.notices.sent = map[string]sentNotice{}
	err := d.store.View(func(v *store.View) error {
		for _, row := range v.Journal(journalRead) {
			if id, account, whole := strings.Cut(row.What, " "); row.Kind == kindNotified && whole {
				d.notices.sent[id] = sentNotice{who: row.Who, account: account, at: row.At}
			}
		}
		return nil
	})
	d.notices.loaded = err == nil
	return err
}

// admit refuses one too many, and forgets what is too old to count.
func (n *notices) admit(who string, now clock.Stamp) error {
	count := 0
	for id, s := range n.sent {
		switch {
		case now.Since(s.at) >= noticesSpan:
			delete(n.sent, id)
		case s.who == who:
			count++
		}
	}
	limit, name := maxNoticesOutside, "this machine's scripts"
	if who != "owner" {
		limit, name = maxNoticesOfRun, who
	}
	if count >= limit {
		return wire.Refuse(wire.ConfirmError, "%s sent %d notices within an hour, as many as may be: "+
			"collect what there is to say and send it later, in one", name, count)
	}
	return nil
}
