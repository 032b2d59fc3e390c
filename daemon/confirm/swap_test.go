package confirm_test

import (
	"strings"
	"testing"
	"time"

	"scv/daemon/confirm"
	"scv/internal/clock"
	"scv/wire"
)

// TestSwappedQuestion: a bare word that comes, or was written, just after another question ended is not taken for
// the one that is open now; a code or a quote is, and so is the word a little later.
func TestSwappedQuestion(t *testing.T) {
	const ended = 30 * time.Second
	step := func(d time.Duration) clock.Stamp { // our wall clock was a year ahead when the other question ended
		s := at(d)
		s.Wall = s.Wall.Add(365 * 24 * time.Hour)
		return s
	}
	for name, c := range map[string]struct {
		text, quoted string
		unanswered   clock.Stamp
		sent, read   time.Duration
		live         bool
		want         wire.ConfirmState
	}{
		"nothing ended":               {"yes", "", clock.Stamp{}, ended, ended, false, wire.Yes},
		"at once":                     {"yes", "", at(ended), ended, ended, false, wire.Pending},
		"no at once":                  {"no", "", at(ended), ended, ended, false, wire.Pending},
		"a moment before the guard":   {"yes", "", at(ended), ended + confirm.SwapGuard - 1, ended + confirm.SwapGuard - 1, false, wire.Pending},
		"at its end":                  {"yes", "", at(ended), ended + confirm.SwapGuard, ended + confirm.SwapGuard, false, wire.Yes},
		"written then, read later":    {"yes", "", at(ended), ended + time.Second, ended + time.Minute, false, wire.Pending},
		"written before, read later":  {"yes", "", at(ended), ended - time.Second, ended + time.Minute, false, wire.Pending},
		"by code":                     {"yes 01", "", at(ended), ended, ended, false, wire.Yes},
		"by quote":                    {"yes", "a", at(ended), ended, ended, false, wire.Yes},
		"at a terminal":               {"yes", "", at(ended), ended, ended + time.Second, true, wire.Pending},
		"at a terminal, later":        {"yes", "", at(ended), ended, ended + confirm.SwapGuard, true, wire.Yes},
		"a step of the clock":         {"yes", "", step(ended), ended, ended + 9*time.Minute, false, wire.Pending},
		"a step of the clock is over": {"yes", "", step(ended), ended, ended + 10*time.Minute, false, wire.Yes},
	} {
		a := says(c.text)
		a.SentAt, a.Unanswered, a.Live = start.Add(c.sent), c.unanswered, c.live
		if c.quoted != "" {
			a.Quotes, a.Quoted = "om_q", c.quoted
		}
		r := confirm.Judge([]confirm.Question{opened(t, "a", 1)}, a, at(c.read))
		got := wire.Pending
		if len(r.Changed) == 1 {
			got = r.Changed[0].State
		}
		if got != c.want || got == wire.Pending && (r.Verdict != confirm.Hint || !strings.Contains(strings.Join(r.Lines, ""), "yes 01 or no 01")) {
			t.Errorf("%s: %s, want %s: %+v", name, got, c.want, r)
		}
	}
}

// TestUnanswered: only an end that the chat saw, and that was no answer of its owner.
func TestUnanswered(t *testing.T) {
	for state, want := range map[wire.ConfirmState]bool{
		wire.Expired: true, wire.Withdrawn: true, wire.NotAsked: true, wire.Yes: false, wire.No: false, wire.Pending: false, wire.Unknown: false,
	} {
		q := opened(t, "a", 1)
		q.State = state
		if got := confirm.Unanswered(q, false); got != want {
			t.Errorf("%s: %v", state, got)
		}
	}
	q, _ := question(t, "a", 1).Withdraw(at(0))
	if confirm.Unanswered(q, false) || !confirm.Unanswered(q, true) {
		t.Error("of a question that was not shown the chat knows only what it is told")
	}
}
