package reconcile

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"scv/daemon/channel"
	"scv/wire"
)

// What status says where the adapter said nothing a person could use.
const (
	saysEnded     = "the connection ended; it is tried again by itself"
	saysPanicked  = "the channel's program failed; it is tried again by itself; the log has the cause"
	saysSomething = "it failed; the log has the cause"
	saysOverdue   = "it does not stop; restart the daemon if it stays so"
	saysNobody    = "its owner is unknown, so it answers nobody: log in again, or set senders to anyone"
	saysLogoutNow = "it is being logged out"
)

// maxSentence bounds what one account can put into a status reply, in bytes.
const maxSentence = 300

// sentence makes a text fit to show: one line, no control or invisible characters, bounded.
func sentence(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	s = strings.TrimSpace(s)
	if len(s) > maxSentence {
		s = strings.ToValidUTF8(s[:maxSentence-len("…")], "") + "…"
	}
	return s
}

// Health is a copy of every account's health, sorted by id. It waits for no platform.
func (l *Loop) Health() []wire.ComponentHealth {
	l.mu.Lock()
	all := make([]wire.ComponentHealth, 0, len(l.accounts))
	for id, a := range l.accounts {
		_, held := l.held[id]
		all = append(all, a.health(held))
	}
	l.mu.Unlock()
	slices.SortFunc(all, func(a, b wire.ComponentHealth) int { return strings.Compare(a.ID, b.ID) })
	return all
}

func (a *account) health(held bool) wire.ComponentHealth {
	d := a.want
	h := wire.ComponentHealth{
		ID: a.id, Channel: d.Account.Channel, Account: d.Account.Name,
		BotID: known(d.BotID), UserID: known(d.Account.OwnerID),
		Enabled: d.Enabled, State: a.state, Restarts: a.restarts,
		Error: known(a.problem), RemoteTools: d.effectiveTools(),
	}
	if a.lastSuccess != nil {
		at := *a.lastSuccess
		h.LastSuccessUnixSeconds = &at
	}
	if d.Senders != "" {
		h.Senders = &d.Senders
	}
	if h.Error == nil {
		h.Error = known(d.note(held))
	}
	return h
}

// note is what an account's settings mean that its state does not show.
func (d Desired) note(held bool) string {
	switch {
	case !d.Enabled:
		return ""
	case held:
		return saysLogoutNow
	case d.Senders == wire.SendersOwner && d.Account.OwnerID == "":
		return saysNobody
	default:
		return ""
	}
}

// effectiveTools grants tools only to an owner who is known.
func (d Desired) effectiveTools() wire.RemoteTools {
	if d.RemoteTools == wire.ToolsOwner && d.Account.OwnerID != "" {
		return wire.ToolsOwner
	}
	return wire.ToolsNone
}

func known(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Adapter is the account's adapter while it is starting, connected or disconnected. It serves for Send
// and MaxText; its Send refuses once the attempt is over, ends with it, and never panics.
func (l *Loop) Adapter(id string) (channel.Adapter, bool) {
	if s := l.sender(id); s != nil {
		return s, true
	}
	return nil, false
}

// Typist is that adapter where it is one.
func (l *Loop) Typist(id string) (channel.Typist, bool) {
	if s := l.sender(id); s != nil {
		if inner, types := s.attempt.adapter.(channel.Typist); types {
			return typist{s, inner}, true
		}
	}
	return nil, false
}

// sender is nil while there is no adapter.
func (l *Loop) sender(id string) *sender {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accounts[id]
	if a == nil || a.run == nil || a.run.asked || a.run.attempt == nil || a.run.attempt.adapter == nil {
		return nil
	}
	return &sender{loop: l, in: a.run, attempt: a.run.attempt}
}

// sender is an adapter as others see it.
type sender struct {
	loop    *Loop
	in      *instance
	attempt *attempt
}

// Serve is the loop's alone.
func (s *sender) Serve(context.Context) error { return errNotRunning }

// MaxText is as the adapter said when it was made.
func (s *sender) MaxText() int { return s.attempt.maxText }

// Send hands a part to the adapter. Nothing takes the attempt's place before it returned, so it is
// cancelled when the attempt ends.
func (s *sender) Send(ctx context.Context, out channel.Outgoing) (receipt channel.Receipt, err error) {
	err = s.use(ctx, func(ctx context.Context) error {
		receipt, err = s.attempt.adapter.Send(ctx, out)
		return err
	})
	return receipt, err
}

// use calls the adapter while its attempt lasts.
func (s *sender) use(ctx context.Context, call func(ctx context.Context) error) error {
	s.loop.mu.Lock()
	if s.in.attempt != s.attempt || s.in.asked {
		s.loop.mu.Unlock()
		return errNotRunning
	}
	s.attempt.sends.Add(1)
	s.loop.mu.Unlock()
	defer s.attempt.sends.Done()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.attempt.ctx, cancel)()
	return s.loop.contain(s.in.account.id, func() error { return call(ctx) })
}

// typist is an adapter as whoever shows that it writes sees it.
type typist struct {
	sender *sender
	inner  channel.Typist
}

func (t typist) TakesProgress() bool { return t.inner.TakesProgress() }

func (t typist) Typing(ctx context.Context, chat, handle string) {
	_ = t.sender.use(ctx, func(ctx context.Context) error { // nothing hangs on it
		t.inner.Typing(ctx, chat, handle)
		return nil
	})
}
