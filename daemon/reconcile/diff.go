package reconcile

import (
	"slices"
	"strings"

	"scv/daemon/channel"
	"scv/wire"
)

// Desired is what one account should be. Two equal values need no restart.
type Desired struct {
	Account     channel.Account
	Enabled     bool
	RemoteTools wire.RemoteTools // as set; status shows what is effective
	Senders     wire.Senders
	Workspace   string
	Agent       string
	BotID       string // the bot's id on the platform, or ""
	Credentials string // fingerprint: another one is another log-in
	Broken      string // one sentence: why it cannot run; looked at again each pass
}

// runnable reports whether an instance should run.
func (d Desired) runnable() bool { return d.Enabled && d.Broken == "" }

type phase string

const (
	idle     phase = "idle"     // nothing runs
	failed   phase = "failed"   // nothing runs: Desired failed for good
	running  phase = "running"  // an instance of Desired runs, or waits for its next attempt
	stopping phase = "stopping" // an instance was asked to stop and is not joined
)

// observed is what a pass finds of one account.
type observed struct {
	Phase   phase
	Desired Desired // of the instance, or of what failed
	Held    bool    // being logged out: must not run
}

type action string

const (
	doKeep   action = "keep"   // as it is
	doStart  action = "start"  // nothing runs: begin an instance
	doStop   action = "stop"   // ask the instance to stop; a later pass goes on from there
	doShow   action = "show"   // nothing runs and nothing shall: disabled or broken
	doForget action = "forget" // neither desired nor running
)

// step is what to do about one account.
type step struct {
	ID      string
	Do      action
	Desired *Desired // nil: not desired
}

// diff compares what should be with what is, sorted by id. With fresh, what failed starts again.
func diff(desired []Desired, now map[string]observed, fresh bool) []step {
	steps := make([]step, 0, len(desired)+len(now))
	wanted := make(map[string]bool, len(desired))
	for _, d := range desired {
		id := d.Account.ID()
		if wanted[id] {
			continue // one id, one instance: the first counts
		}
		wanted[id] = true
		steps = append(steps, step{id, decide(d, now[id], fresh), &d})
	}
	for id, o := range now {
		if !wanted[id] {
			steps = append(steps, step{id, dismiss(o), nil})
		}
	}
	slices.SortFunc(steps, func(a, b step) int { return strings.Compare(a.ID, b.ID) })
	return steps
}

// decide is for an account that is desired; the zero observed is one that was never seen.
func decide(d Desired, o observed, fresh bool) action {
	run := d.runnable() && !o.Held
	switch o.Phase {
	case running:
		if run && o.Desired == d {
			return doKeep
		}
		return doStop
	case stopping:
		return doKeep
	case failed:
		if run && o.Desired == d && !fresh {
			return doKeep
		}
	case idle, "":
	}
	switch {
	case run:
		return doStart
	case o.Held && d.runnable():
		return doKeep
	default:
		return doShow
	}
}

// dismiss is for an account that is not desired.
func dismiss(o observed) action {
	switch o.Phase {
	case running:
		return doStop
	case stopping:
		return doKeep
	default:
		return doForget
	}
}
