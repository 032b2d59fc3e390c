package wechat

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"scv/daemon/channel"
	"scv/internal/clock"
)

// Bounds of an answer to a poll.
const (
	maxMessages = 4096
	longestHold = 5 * time.Minute // that the platform may announce
)

type pollBody struct {
	Cursor string   `json:"get_updates_buf"`
	Base   baseInfo `json:"base_info"`
}

// updates is an answer to a poll.
type updates struct {
	messages []jsontext.Value
	cursor   string
	hold     time.Duration // how long the platform says that it holds a poll, 0 where it does not
}

// updates polls once. Nothing of an answer counts that is not wholly as it should be.
func (a *api) updates(ctx context.Context, cursor string, limit time.Duration) (updates, error) {
	placed, done := connecting.wait(ctx)
	defer done()
	answered, err := a.post(placed, limit, "getupdates", pollBody{cursor, thisClient})
	if err != nil {
		return updates{}, err
	}
	got, err := readUpdates(answered.status, answered.text, cursor)
	if refusal, ok := errors.AsType[*answer](err); ok && refusal.fate == refused {
		refusal.fate = again // a poll is the same every time: it is not at fault
	}
	return got, err
}

// readUpdates reads an answer. A success of the live platform names neither ret nor errcode; what names one must
// say 0, and may leave out the rest.
func readUpdates(status int, text []byte, cursor string) (updates, error) {
	if err := judge(status, text); err != nil {
		return updates{}, err
	}
	var got struct {
		head
		Messages jsontext.Value `json:"msgs"`
		Cursor   jsontext.Value `json:"get_updates_buf"`
		Hold     jsontext.Value `json:"longpolling_timeout_ms"`
	}
	if channel.ReadJSON(text, &got) != nil {
		return updates{}, unread(status)
	}
	bare := got.Ret == nil && got.Code == nil
	u := updates{cursor: cursor, hold: readHold(got.Hold)}
	switch {
	case !bare && string(got.Ret) != "0",
		got.Messages == nil && bare, got.Messages != nil && channel.ReadJSON(got.Messages, &u.messages) != nil,
		got.Messages != nil && got.Messages.Kind() != '[',
		got.Cursor == nil && bare, got.Cursor != nil && got.Cursor.Kind() != '"':
		return updates{}, unread(status)
	case len(u.messages) > maxMessages:
		return updates{}, &answer{status: status, meaning: meaning{says: "more than 4096 messages at once"}}
	}
	var next string
	if got.Cursor != nil && channel.ReadJSON(got.Cursor, &next) != nil {
		return updates{}, unread(status)
	}
	if next != "" { // an empty one would ask for all that ever was
		u.cursor = next
	}
	return u, nil
}

func readHold(raw jsontext.Value) time.Duration {
	ms, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || ms <= 0 {
		return 0
	}
	return time.Duration(min(ms, longestHold.Milliseconds())) * time.Millisecond
}

// follow polls and hands over what comes, until ctx ends or the owner is needed.
func (a *Adapter) follow(ctx context.Context) error {
	cursor, err := a.o.Host.Cursor()
	if err != nil {
		return err
	}
	if _, err := a.greet(ctx); err != nil {
		return err
	}
	limit, silent, delay := a.rhythm.poll, false, a.retry
	for {
		began := time.Now()
		got, err := a.api.updates(ctx, cursor, limit)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case needsOwner(err):
			return err
		case isIdle(err) && !silent:
			silent = true // a poll without news may end so: the platform was slower than we
			continue
		case isIdle(err):
			alive, over := a.greet(ctx)
			if over != nil {
				return over
			}
			if alive {
				continue
			}
			fallthrough
		case err != nil:
			if !a.await(ctx, err, delay) {
				return ctx.Err()
			}
			delay = min(2*delay, a.slow)
			continue
		}
		a.o.Host.Contact(nil)
		silent, delay = false, a.retry
		limit = max(a.rhythm.poll, got.hold+a.grace)
		if err := a.take(ctx, got, cursor); err != nil {
			return err
		}
		nothing := len(got.messages) == 0 || got.cursor == cursor
		if nothing && !clock.Pause(ctx, a.soonest-time.Since(began)) { // it need not hold a poll
			return ctx.Err()
		}
		cursor = got.cursor
	}
}

func isIdle(err error) bool {
	u, ok := errors.AsType[*unreachable](err)
	return ok && u.idle
}

// await says that a poll has failed and waits until the next. Connections that may be dead are not used again.
func (a *Adapter) await(ctx context.Context, err error, delay time.Duration) bool {
	delay += time.Duration(rand.Int64N(int64(delay)/5 + 1)) // accounts cut off together do not come back together
	a.o.Log.Warn("cannot receive, trying again", "account", a.o.Account.ID(), "in", delay.Round(time.Millisecond), "err", err)
	a.o.Host.Contact(words(err))
	a.api.http.CloseIdleConnections()
	return clock.Pause(ctx, delay)
}

// greet asks for something that is answered at once, and reports whether it was: a poll is held for as long as
// nothing is new, and until then nobody would know whether anybody is there and the sign-in is good. The error is
// one that only the owner can end.
func (a *Adapter) greet(ctx context.Context) (alive bool, err error) {
	if a.o.Account.OwnerID == "" {
		return false, nil
	}
	placed, done := connecting.wait(ctx)
	defer done()
	probing, cancel := context.WithTimeout(placed, a.probe)
	defer cancel()
	got, err := a.api.config(probing, a.o.Account.OwnerID, "")
	if needsOwner(err) {
		return false, err
	}
	if alive = err == nil && got.Ticket != ""; alive {
		a.o.Host.Contact(nil)
	}
	return alive, nil
}

// take hands over the messages of an answer and moves the cursor past them. It tries until that is durable: only
// then may the platform be shown the cursor, and nothing newer may come before.
func (a *Adapter) take(ctx context.Context, got updates, before string) error {
	var batch []channel.Message
	for _, raw := range got.messages {
		if m, ok := a.message(raw); ok {
			batch = append(batch, m)
		}
	}
	if len(batch) == 0 && got.cursor == before {
		return nil
	}
	return a.o.Host.Keep(ctx, batch, got.cursor, func(err error, again time.Duration) {
		a.o.Log.Error("messages cannot be kept, trying again", "account", a.o.Account.ID(), "in", again, "err", err)
	})
}
