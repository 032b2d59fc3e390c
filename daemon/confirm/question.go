package confirm

import (
	"math"
	"time"

	"scv/internal/clock"
	"scv/wire"
)

// Numbers of docs/rules.md §6.
const (
	MaxOpenPerChat = 8
	MaxOpenPerRun  = 3
	KeepAlive      = 60 * time.Second // unpolled for so long, a question is withdrawn
	PollStored     = 20 * time.Second // a poll is stored only when the stored one is this old
)

// Question is one question with all that its rules need. It has the fields of the stored record, so
// that one converts into the other.
type Question struct {
	ID         string
	Code       string // tells it from others in its chat
	Account    string // component id
	Chat       string // the owner's direct chat on it
	Owner      string // who may answer
	Question   string // exactly as shown
	Asker      string // handle of the run that asked, or ""
	Timeout    time.Duration
	Asked      clock.Stamp
	Elapsed    time.Duration // that had passed at Noted
	Noted      clock.Stamp
	LastPolled clock.Stamp // as last stored
	State      wire.ConfirmState
	Attempted  bool        // a first delivery was begun
	Opened     time.Time   // zero until the platform accepted its text
	MessageID  string      // of its text on the platform, by which an answer may quote it, or ""
	Hinted     bool        // the one hint was given
	Ended      clock.Stamp // zero while pending
	Receipt    *wire.ConfirmReceipt
}

// ElapsedAt is how long ago the question was asked. Within a boot only the boot clock counts; across a
// reboot it is what was stored plus the larger of the wall difference and the time since boot. So a
// step of the wall clock neither ends a question early nor keeps it alive.
func (q Question) ElapsedAt(now clock.Stamp) time.Duration {
	since, before := now.Since(q.Noted), max(q.Elapsed, 0)
	if since > math.MaxInt64-before {
		return math.MaxInt64
	}
	return before + since
}

// Note folds the time that has passed into the stored form. Every change below does it; a question
// that no longer waits stays as it is.
func (q Question) Note(now clock.Stamp) Question {
	if !q.waits() {
		return q
	}
	q.Elapsed, q.Noted = q.ElapsedAt(now), now
	return q
}

// Attempt records that a delivery begins. A question that is not pending afterwards must not be sent.
func (q Question) Attempt(now clock.Stamp) Question {
	if !q.waits() || !q.Opened.IsZero() {
		return q
	}
	if q, _ = q.settle(now); q.waits() { // unopened: its end has no line
		q.Attempted = true
	}
	return q.Note(now)
}

// Accept opens the question: the platform took all of its text, at its own time at, or now where it
// gives none. If the question ended while its text was under way, the chat has seen it after all and
// line says that it does not count.
func (q Question) Accept(now clock.Stamp, at time.Time) (changed Question, line string) {
	q, line = q.settle(now)
	if q.State.Final() {
		if q.Opened.IsZero() {
			line = q.line(noLongerAsked)
		}
		return q, line
	}
	if q.waits() && q.Opened.IsZero() {
		if at.IsZero() {
			at = now.Wall
		}
		q.Attempted, q.Opened = true, at.Round(0) // a wall time: no monotonic reading may decide
		q = q.Note(now)
	}
	return q, ""
}

// Refuse ends a question that the platform will never take. The chat has not seen it.
func (q Question) Refuse(now clock.Stamp) Question {
	if !q.waits() || !q.Opened.IsZero() {
		return q
	}
	return q.end(now, wire.NotAsked)
}

// Withdraw ends a question because its asker no longer wants an answer.
func (q Question) Withdraw(now clock.Stamp) (changed Question, line string) {
	q, line = q.settle(now)
	if !q.waits() {
		return q, line
	}
	q = q.end(now, wire.Withdrawn)
	return q, q.lineIfSeen(noLongerAsked)
}

// Tick ends what time ends. lastPolled comes from memory, since not every poll is stored; a start, a
// resume from suspend and the end of a probation each set it to now.
func (q Question) Tick(now, lastPolled clock.Stamp) (changed Question, line string) {
	q, line = q.settle(now)
	if !q.waits() || now.Since(lastPolled) < KeepAlive {
		return q, line
	}
	q = q.end(now, wire.Withdrawn)
	return q, q.lineIfSeen(noLongerAsked)
}

// Poll records that the asker still asks, for a question that Tick left pending. Only when store is
// true is the change worth a commit.
func (q Question) Poll(now clock.Stamp) (changed Question, store bool) {
	if !q.waits() || now.Since(q.LastPolled) < PollStored {
		return q, false
	}
	q.LastPolled = now
	return q.Note(now), true
}

// waits reports whether the question can still change. One in a newer daemon's state cannot.
func (q Question) waits() bool { return q.State == wire.Pending }

// overdue reports whether its time is up, whatever its state says yet.
func (q Question) overdue(now clock.Stamp) bool { return q.ElapsedAt(now) >= q.Timeout }

// settle ends a question whose time is up: every event looks at the deadline first, so that the
// outcome does not hang on whether the timer or the event came first.
func (q Question) settle(now clock.Stamp) (Question, string) {
	if !q.waits() || !q.overdue(now) {
		return q, ""
	}
	if q.Opened.IsZero() {
		return q.end(now, wire.NotAsked), ""
	}
	q = q.end(now, wire.Expired)
	return q, q.line(noAnswer)
}

func (q Question) end(now clock.Stamp, state wire.ConfirmState) Question {
	q = q.Note(now)
	q.State, q.Ended = state, now
	return q
}

// Info is the question as the seed's types tell of it.
func Info(q Question) wire.ConfirmInfo {
	return wire.ConfirmInfo{
		ID: q.ID, State: q.State, Chat: q.Account,
		DeadlineUnixSeconds: q.Asked.UnixSeconds() + uint64(max(q.Timeout, 0)/time.Second),
	}
}

// Detail is all that may be told of the question.
func Detail(q Question) wire.ConfirmDetail {
	d := wire.ConfirmDetail{
		Confirm: Info(q), Code: q.Code, Question: q.Question,
		AskedUnixSeconds: q.Asked.UnixSeconds(), Receipt: q.Receipt,
	}
	if q.Asker != "" {
		d.Asker = &q.Asker
	}
	if !q.Opened.IsZero() {
		d.OpenedUnixMillis = new(clock.Stamp{Wall: q.Opened}.UnixMillis())
	}
	if !q.Ended.Zero() {
		d.EndedUnixSeconds = new(q.Ended.UnixSeconds())
	}
	return d
}
