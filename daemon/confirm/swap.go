package confirm

import (
	"time"

	"scv/internal/clock"
	"scv/wire"
)

const (
	// SwapGuard is how long after a question ended without an answer a bare word is not taken for another one: a
	// person who reads and types may mean what stood there a moment ago. A script that asks anew after an
	// interrupt would else get the yes to what it asked before.
	SwapGuard = 5 * time.Second
	// swapLate is how long a message may be on its way that was written in that time.
	swapLate = 10 * time.Minute
)

// Unanswered reports whether a question has ended, without an answer, before the eyes of its chat: it had been
// shown there, or told says that it is told of only now.
func Unanswered(q Question, told bool) bool {
	switch q.State {
	case wire.Expired, wire.Withdrawn, wire.NotAsked:
		return told || !q.Opened.IsZero()
	case wire.Pending, wire.Yes, wire.No, wire.Unknown:
	}
	return false
}

// StillInDoubt reports whether such an end can still matter to a message.
func StillInDoubt(ended, now clock.Stamp) bool { return !ended.Zero() && now.Since(ended) < swapLate }

// inDoubt reports whether a bare word may be meant for a question that has just ended. The platform's time says
// when it was written, and ours when it was read.
func (a Answer) inDoubt(now clock.Stamp) bool {
	if !StillInDoubt(a.Unanswered, now) {
		return false
	}
	return now.Since(a.Unanswered) < SwapGuard || !a.Live && a.SentAt.Before(a.Unanswered.Wall.Add(SwapGuard))
}
