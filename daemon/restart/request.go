package restart

import (
	"fmt"
	"time"

	"scv/store"
	"scv/wire"
)

// How long a restart waits for owner work, in seconds.
const (
	defaultWait = 600
	longestWait = 3600
)

// Asked is a request to restart, with what the daemon found out about it.
type Asked struct {
	Version   string  // that the asker has installed; "" for whatever is there
	Commit    string  // likewise, for the announcement
	MaxWait   *uint64 // seconds; nil: the default
	Requester string  // handle of the outermost run that asks, "" for the owner at a terminal
	Account   string  // of the chat that hears the outcome first, or ""
	Chat      string
}

// Obstacles is what keeps this daemon from any restart; each is a sentence, "" where there is none.
type Obstacles struct {
	Init       bool   // it is the first process: what it leaves would end with it
	Unwritable string // why the folder of the program or the home cannot be written
	NoGuard    string // why nothing can be started outside our own fate
}

// Wait is how long a request lets owner work hold the restart.
func (a Asked) Wait() (time.Duration, error) {
	switch {
	case a.MaxWait == nil:
		return defaultWait * time.Second, nil
	case *a.MaxWait == 0:
		return 0, wire.Refuse(wire.InvalidRequest, "max_wait_seconds is at least 1")
	}
	return time.Duration(min(*a.MaxWait, longestWait)) * time.Second, nil
}

// Examine says whether what is installed may be restarted into. Its error is a refusal for who asked.
func Examine(a Asked, running, installed Release, o Obstacles) error {
	switch {
	case o.Init:
		return refuse("this daemon is the first process of its container, so nobody could stand in for it: restart the container instead")
	case o.Unwritable != "":
		return refuse("%s", o.Unwritable)
	case o.NoGuard != "":
		return refuse("%s", o.NoGuard)
	case a.Version != "" && a.Version != installed.Version:
		return refuse("version %s is installed and %s was expected: install it, then ask again", installed.Version, a.Version)
	case a.Commit != "" && installed.Commit != "" && !sameCommit(a.Commit, installed.Commit):
		return refuse("commit %s is installed and %s was expected: install it, then ask again", installed.Commit, a.Commit)
	case installed.Schema < running.Schema:
		return refuse("version %s reads the store up to schema %d, and it has schema %d by now: an older release cannot take over",
			installed.Version, installed.Schema, running.Schema)
	}
	return nil
}

// sameCommit compares two names of a commit of which either may be shortened.
func sameCommit(a, b string) bool {
	n := min(len(a), len(b))
	return n >= 7 && a[:n] == b[:n]
}

// Merge says what becomes of a request while a plan is under way: the plan for the same program stays as it is,
// one that still waits is replaced, one that is switching is in the way.
func Merge(plan store.Restart, under bool, sum string) (keep bool, err error) {
	switch {
	case !under:
		return false, nil
	case plan.Step != store.RestartWaiting:
		return false, refuse("the restart into %s is under way already; ask again when it has ended", plan.ToVersion)
	}
	return plan.SHA256 == sum, nil
}

func refuse(format string, args ...any) error { return wire.Refuse(wire.RestartError, format, args...) }

// Sentence is how a restart ended, for the owner. why is what stood in the way, or is amiss; cut is named too.
func Sentence(plan store.Restart, why string) string {
	var text string
	switch {
	case plan.Updated:
		text = "SCV now runs " + plan.ToVersion + inBrackets(plan.ToCommit)
	case plan.Step == store.RestartWaiting:
		text = fmt.Sprintf("SCV did not restart into %s and still runs %s", plan.ToVersion, plan.FromVersion)
	default:
		text = fmt.Sprintf("SCV went back to %s from %s", plan.FromVersion, plan.ToVersion)
	}
	switch {
	case why != "" && plan.Updated:
		text += ", but " + why
	case why != "":
		text += ": " + why
	}
	text += "."
	if len(plan.Cut) > 0 {
		text += " The restart cut " + listed(plan.Cut) + "."
	}
	return text
}

func inBrackets(commit string) string {
	if commit == "" {
		return ""
	}
	return " (" + commit + ")"
}
