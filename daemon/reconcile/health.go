package reconcile

import (
	"slices"
	"strings"
	"unicode"

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
