package restart

import (
	"slices"
	"strings"
	"time"

	"scv/internal/clock"
	"scv/store"
)

// ClearChecks is how many looks in a row must find nothing to wait for: between two steps of one piece of work
// there is a moment that belongs to neither.
const ClearChecks = 2

// Work is what goes on while a restart waits.
type Work struct {
	Requester Requester
	Messages  int      // of owners that are being answered, or wait for it
	Working   []string // live agents in the middle of a turn: an exec cuts what they talk through
}

// Requester is the run that asked for the restart.
type Requester struct {
	Runs   bool   // it works: not a live agent between turns
	Jobs   uint32 // that run in its background
	Report bool   // it has ended and its report is not stored yet
}

// WaitsFor is what a plan waits for, the first that applies, in exactly these words; "" for nothing.
func (w Work) WaitsFor(plan store.Restart) string {
	blockers := w.Blockers(plan)
	if len(blockers) == 0 {
		return ""
	}
	return blockers[0]
}

// Blockers is everything that a plan waits for. Without a requester only owners' messages count.
func (w Work) Blockers(plan store.Restart) (all []string) {
	if plan.Requester != "" {
		if w.Requester.Runs {
			all = append(all, plan.Requester+" to finish")
		}
		if w.Requester.Jobs > 0 {
			all = append(all, plan.Requester+"'s background jobs")
		}
		if w.Requester.Report {
			all = append(all, plan.Requester+"'s report")
		}
	}
	if w.Messages > 0 {
		all = append(all, "an owner message to be answered")
	}
	return all
}

// Cuts is the work that a restart now would end. Per-turn runs go on through it.
func (w Work) Cuts() []string { return slices.Sorted(slices.Values(w.Working)) }

// Deadline is when a plan restarts whatever goes on.
func Deadline(plan store.Restart) time.Time { return plan.Asked.Wall.Add(plan.MaxWait) }

// Due reports whether the time of a plan is up. A step of the clock cannot make it so.
func Due(plan store.Restart, now clock.Stamp) bool { return now.Since(plan.Asked) >= plan.MaxWait }

// listed is a list in words.
func listed(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
