package confirm

import (
	"fmt"
	"strings"
	"time"

	"scv/internal/clock"
	"scv/wire"
)

// Ask is what somebody wants to be asked, and whom.
type Ask struct {
	Account        string // component id
	Chat           string // the owner's direct chat on it
	Owner          string // who may answer
	Asker          string // handle of the verified run that asks, or ""
	Question       string // as it came
	TimeoutSeconds *uint64
}

// Admit refuses a question where too many wait. open has every pending question of the daemon.
func Admit(open []Question, ask Ask) error {
	var inChat, ofRun int
	for _, q := range open {
		if !q.waits() {
			continue
		}
		if q.Account == ask.Account && q.Chat == ask.Chat {
			inChat++
		}
		if ask.Asker != "" && q.Asker == ask.Asker {
			ofRun++
		}
	}
	switch {
	case ofRun >= MaxOpenPerRun:
		return wire.Refuse(wire.ConfirmError, "%s already waits for %d answers: wait for one or withdraw a question", ask.Asker, ofRun)
	case inChat >= MaxOpenPerChat:
		return wire.Refuse(wire.ConfirmError, "%d questions already wait for an answer in %s: answer one first", inChat, ask.Account)
	}
	return nil
}

// New makes a question that waits to be sent. inUse reports whether a code was used in this chat
// within 24 h; pick returns a random number in [0, n). A refusal is a *wire.Error.
func New(ask Ask, now clock.Stamp, id string, inUse func(code string) bool, pick func(n int) int) (Question, error) {
	text := strings.TrimSpace(ask.Question)
	switch {
	case text == "":
		return Question{}, wire.Refuse(wire.InvalidRequest, "the question is empty")
	case len(text) > wire.MaxQuestion:
		return Question{}, wire.Refuse(wire.InvalidRequest, "the question has %d bytes, more than %d: shorten it", len(text), wire.MaxQuestion)
	case ask.Account == "" || ask.Chat == "" || ask.Owner == "":
		return Question{}, wire.Refuse(wire.ConfirmError, "nobody is known who could answer: see scv channels")
	}
	timeout, err := timeoutOf(ask.TimeoutSeconds)
	if err != nil {
		return Question{}, err
	}
	code, err := freeCode(inUse, pick)
	if err != nil {
		return Question{}, err
	}
	return Question{
		ID: id, Code: code, Account: ask.Account, Chat: ask.Chat, Owner: ask.Owner, Asker: ask.Asker,
		Question: Shown(text), Timeout: timeout, Asked: now, Noted: now, LastPolled: now, State: wire.Pending,
	}, nil
}

// timeoutOf clamps before it converts: 2^64-1 seconds must not turn negative.
func timeoutOf(seconds *uint64) (time.Duration, error) {
	if seconds == nil {
		return wire.DefaultConfirmSeconds * time.Second, nil
	}
	if *seconds == 0 {
		return 0, wire.Refuse(wire.InvalidRequest, "a question cannot time out after 0 seconds: give 1 to %d", wire.MaxConfirmSeconds)
	}
	return time.Duration(min(*seconds, wire.MaxConfirmSeconds)) * time.Second, nil
}

// freeCode finds the shortest unused code of hex digits, from a random start so that codes of
// neighbouring questions do not look alike.
func freeCode(inUse func(string) bool, pick func(int) int) (string, error) {
	for digits := 2; digits <= 4; digits++ {
		all := 1 << (4 * digits)
		start := pick(all)
		for i := range all {
			code := fmt.Sprintf("%0*x", digits, (start+i)%all)
			if !inUse(code) {
				return code, nil
			}
		}
	}
	return "", wire.Refuse(wire.ConfirmError, "this chat was asked too often today: try again tomorrow")
}
