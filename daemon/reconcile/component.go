package reconcile

import (
	"scv/internal/clock"
	"scv/wire"
)

// component is the life of one account. Each event is a method; next is the one table of what may
// follow what. An event that its state does not list changes nothing: it came too late.
//
//	state        | start    contacted lost         crashed needsPerson asked    joined  overdue  turnedOff broken
//	disabled     | starting -         -            -       -           -        -       -        disabled  failed
//	stopped      | starting -         -            -       -           -        -       -        disabled  failed
//	failed       | starting -         -            -       -           -        -       -        disabled  failed
//	starting     | starting connected disconnected backoff failed      stopping stopped -        -         -
//	connected    | -        connected disconnected backoff failed      stopping stopped -        -         -
//	disconnected | -        connected disconnected backoff failed      stopping stopped -        -         -
//	backoff      | starting -         -            -       -           stopping stopped -        -         -
//	stopping     | -        -         -            -       -           -        stopped stopping -         -
type component struct {
	state       wire.ComponentState
	problem     string  // what status shows as error: one sentence, or ""
	lastSuccess *uint64 // unix seconds
	restarts    uint64  // since the daemon began, across replacements
}

type event string

const (
	evStart       event = "start"       // an attempt begins
	evContacted   event = "contacted"   // the platform gave a fresh, authenticated answer
	evLost        event = "lost"        // the latest contact failed
	evCrashed     event = "crashed"     // the attempt ended without being asked to
	evNeedsPerson event = "needsPerson" // the adapter failed in a way that no retry mends
	evAsked       event = "asked"       // it is to stop
	evJoined      event = "joined"      // nothing of the instance is left
	evOverdue     event = "overdue"     // it did not stop within the grace
	evTurnedOff   event = "turnedOff"   // the settings say disabled, and nothing runs
	evBroken      event = "broken"      // it cannot run as it is set, and nothing runs
)

// next is the state after an event, and whether the event counts in this state.
func next(s wire.ComponentState, e event) (wire.ComponentState, bool) {
	switch s {
	case wire.Disabled, wire.Stopped, wire.Failed:
		return look(e, map[event]wire.ComponentState{
			evStart: wire.Starting, evTurnedOff: wire.Disabled, evBroken: wire.Failed,
		})
	case wire.Starting:
		if e == evStart { // the pass has said so before the attempt does
			return wire.Starting, true
		}
		return afloat(e)
	case wire.Connected, wire.Disconnected:
		return afloat(e)
	case wire.Backoff:
		return look(e, map[event]wire.ComponentState{
			evStart: wire.Starting, evAsked: wire.Stopping, evJoined: wire.Stopped,
		})
	case wire.Stopping:
		return look(e, map[event]wire.ComponentState{evOverdue: wire.Stopping, evJoined: wire.Stopped})
	default:
		panic("the component state " + string(s) + " has no row")
	}
}

// afloat is what may happen while an attempt runs.
func afloat(e event) (wire.ComponentState, bool) {
	return look(e, map[event]wire.ComponentState{
		evContacted: wire.Connected, evLost: wire.Disconnected, evCrashed: wire.Backoff,
		evNeedsPerson: wire.Failed, evAsked: wire.Stopping, evJoined: wire.Stopped,
	})
}

func look(e event, row map[event]wire.ComponentState) (wire.ComponentState, bool) {
	to, ok := row[e]
	return to, ok
}

func (c *component) move(e event) bool {
	to, ok := next(c.state, e)
	if ok {
		c.state = to
	}
	return ok
}

func (c *component) start() {
	if c.move(evStart) {
		c.problem = ""
	}
}

func (c *component) contacted(now clock.Stamp) {
	if c.move(evContacted) {
		at := now.UnixSeconds()
		c.lastSuccess, c.problem = &at, ""
	}
}

func (c *component) lost(problem string) {
	if c.move(evLost) {
		c.problem = problem
	}
}

// crashed keeps the problem that the lost contact named: it says more than any we could find.
func (c *component) crashed(problem string) {
	named := c.state == wire.Disconnected && c.problem != ""
	if !c.move(evCrashed) {
		return
	}
	c.restarts++
	if !named {
		c.problem = problem
	}
}

func (c *component) needsPerson(advice string) {
	if c.move(evNeedsPerson) {
		c.problem = advice
	}
}

func (c *component) asked() {
	if c.move(evAsked) {
		c.problem = ""
	}
}

func (c *component) joined() {
	if c.move(evJoined) {
		c.problem = ""
	}
}

func (c *component) overdue(problem string) {
	if c.move(evOverdue) {
		c.problem = problem
	}
}

func (c *component) turnedOff() {
	if c.move(evTurnedOff) {
		c.problem = ""
	}
}

func (c *component) broken(why string) {
	if c.move(evBroken) {
		c.problem = why
	}
}
