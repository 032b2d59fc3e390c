// Package outage decides when an owner is to hear that one of their accounts cannot be reached: once in each
// outage, and only where waiting does not help. It is pure; the daemon, which looks and tells, is the only one
// that comes in.
package outage

import (
	"fmt"
	"time"

	"scv/wire"
)

// Patience is how long an account may be without a connection before its owner hears of it (docs/rules.md §10).
const Patience = 10 * time.Minute

// Moment is how long one may need its owner before they hear of it (docs/rules.md §10). A new sign-in ends the session
// before it, and the account that had that fails until the new one is saved.
const Moment = 10 * time.Second

// Watch follows accounts from look to look.
type Watch struct{ accounts map[string]*account }

type account struct {
	up      bool
	since   time.Time // of up, as far as was seen
	failed  time.Time // since when it needs its owner, zero while it does not
	settled bool      // what is to be done about it was done
}

// Due is what is to be done about an account.
type Due struct {
	Health wire.ComponentHealth
	Up     bool          // forget what was told, else tell
	Since  time.Duration // ago it was last seen otherwise
}

// Look takes what is seen of all accounts now. What it gives is due until Settle says that it was done. now counts
// while the machine is awake: after a sleep every account gets its time to come back.
func (w *Watch) Look(now time.Time, seen []wire.ComponentHealth) (due []Due) {
	accounts := make(map[string]*account, len(seen))
	for _, h := range seen {
		up := h.State == wire.Connected || !h.Enabled
		a := w.accounts[h.ID]
		if a == nil || a.up != up {
			a = &account{up: up, since: now}
		}
		accounts[h.ID] = a
		switch {
		case h.State != wire.Failed:
			a.failed = time.Time{}
		case a.failed.IsZero():
			a.failed = now
		}
		lasts := now.Sub(a.since)
		needsOwner := h.State == wire.Failed && now.Sub(a.failed) >= Moment
		if !a.settled && (up || needsOwner || lasts >= Patience) {
			due = append(due, Due{h, up, lasts})
		}
	}
	w.accounts = accounts
	return due
}

// Settle says that what was due about an account was done.
func (w *Watch) Settle(id string) {
	if a := w.accounts[id]; a != nil {
		a.settled = true
	}
}

// Text is what the owner reads; command is how they sign the account in, or look at it.
func (d Due) Text(command string) string {
	why := ""
	if d.Health.Error != nil {
		why = ": " + *d.Health.Error
	}
	if d.Health.State == wire.Failed {
		return fmt.Sprintf("The account %s does not run any more and waits for you%s.\n%s", d.Health.ID, why, command)
	}
	return fmt.Sprintf("The account %s has not been connected for %d minutes%s.\nIf that does not pass by itself: %s",
		d.Health.ID, Patience/time.Minute, why, command)
}
