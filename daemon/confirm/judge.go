package confirm

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"scv/internal/clock"
	"scv/wire"
)

// Answer is a message that may answer a question, as the platform vouches for it.
type Answer struct {
	Account     string // component id
	Chat        string
	Sender      string
	Direct      bool // the sender's direct chat, not a group
	Attachments int
	Text        string
	MessageID   string
	Quotes      string    // message id it quotes, or ""
	Quoted      string    // id of the question whose text that message was, or ""
	SentAt      time.Time // the platform's; a message without one never answers
	Live        bool      // read as it was sent (local): it came after an opening, whatever the wall clock did

	Unanswered clock.Stamp // when the latest question of this chat ended without an answer (Unanswered); zero for none
}

// Verdict is what becomes of a message.
type Verdict int

const (
	NotForUs    Verdict = iota // an ordinary message
	Answered                   // it ended a question; no turn
	Late                       // it came after the deadline, which ended the question; no turn
	Hint                       // it ended nothing, and is no turn either
	HintAndTurn                // an ordinary message, and a hint besides
)

// Turn reports whether the message goes on to the agent.
func (v Verdict) Turn() bool { return v == NotForUs || v == HintAndTurn }

// Ruling is the verdict on one message. Changed and Lines belong in one transaction with its claim.
type Ruling struct {
	Verdict Verdict
	Changed []Question // as they are now
	Lines   []string   // what the chat is told, in order; a repeated everyday word is told nothing
}

// Judge rules on one message, given the pending questions of its chat. An answer never queues behind
// a turn, and what it may do is decided here only.
func Judge(open []Question, a Answer, now clock.Stamp) Ruling {
	s := seenBy(open, a, now)
	if s.count() == 0 || s.tooOld(a) {
		return Ruling{}
	}
	w := read(a.Text, s.isCode)
	plain := a.Attachments == 0 && !s.quotesOther(a)
	switch {
	case w.answer != "" && a.Attachments == 0 && !a.SentAt.IsZero() && (w.code != "" || plain):
		return s.answer(w, a, now)
	case len(s.live) == 0: // nothing to hint at
		return Ruling{}
	case w.everyday && plain:
		return s.hintOnce(Hint, s.live, now, "That is not taken as an answer. "+s.howTo())
	case w.begins && s.unhinted():
		return s.hintOnce(HintAndTurn, s.live, now, "Only an exact word answers, so this went on as an ordinary message. "+s.howTo())
	}
	return Ruling{}
}

// seen is the questions that the sender may answer and may have seen, oldest first.
type seen struct {
	live    []Question // open
	early   []Question // their first delivery was begun, the platform has not accepted it yet
	overdue []Question // open until the deadline, which no tick has noticed yet
}

func seenBy(open []Question, a Answer, now clock.Stamp) seen {
	var s seen
	for _, q := range open {
		mine := a.Direct && q.Owner != "" && q.Owner == a.Sender && q.Account == a.Account && q.Chat == a.Chat
		switch opened := !q.Opened.IsZero(); {
		case !mine || !q.waits():
		case opened && q.overdue(now):
			s.overdue = append(s.overdue, q)
		case opened:
			s.live = append(s.live, q)
		case q.Attempted && !q.overdue(now):
			s.early = append(s.early, q)
		}
	}
	for _, group := range [][]Question{s.live, s.early, s.overdue} {
		slices.SortFunc(group, func(x, y Question) int {
			return cmp.Or(x.Asked.Wall.Compare(y.Asked.Wall), strings.Compare(x.ID, y.ID))
		})
	}
	return s
}

func (s seen) all() []Question { return slices.Concat(s.live, s.early, s.overdue) }

func (s seen) count() int { return len(s.live) + len(s.early) + len(s.overdue) }

// tooOld reports whether the message was written before any of the questions, such as one caught up
// after an outage: then it has nothing to do with them.
func (s seen) tooOld(a Answer) bool {
	if a.Live || a.Quoted != "" || a.SentAt.IsZero() {
		return false
	}
	after := func(q Question) bool {
		from := q.Asked.Wall
		if !q.Opened.IsZero() && q.Opened.Before(from) { // the platform's clock is behind ours
			from = q.Opened
		}
		return !a.SentAt.Before(from)
	}
	return !slices.ContainsFunc(s.all(), after)
}

// isCode reports whether a word has the form of the codes in this chat.
func (s seen) isCode(word string) bool {
	sameLength := func(q Question) bool { return len(q.Code) == len(word) }
	return strings.Trim(word, "0123456789abcdef") == "" && slices.ContainsFunc(s.all(), sameLength)
}

// quotesOther reports whether the message quotes something that is none of the questions. It is then
// about that, not about them.
func (s seen) quotesOther(a Answer) bool {
	return (a.Quotes != "" || a.Quoted != "") && s.find(func(q Question) bool { return q.ID == a.Quoted }) == nil
}

func (s seen) find(match func(Question) bool) *Question {
	all := s.all()
	if i := slices.IndexFunc(all, match); i >= 0 {
		return &all[i]
	}
	return nil
}

// answer rules on a message that is exactly an answer.
func (s seen) answer(w words, a Answer, now clock.Stamp) Ruling {
	quoted := s.find(func(q Question) bool { return q.ID == a.Quoted })
	coded := s.find(func(q Question) bool { return q.Code == w.code })
	switch {
	case w.code != "" && coded == nil:
		return hint("No open question has the code " + w.code + ". " + s.howTo())
	case quoted != nil && coded != nil && quoted.ID != coded.ID:
		return hint("The quote and the code name two questions. " + s.howTo())
	case coded != nil:
		return s.settleOn(*coded, quoted != nil, w, a, now)
	case quoted != nil:
		return s.settleOn(*quoted, true, w, a, now)
	case s.count() == 1 && len(s.live) == 1 && a.inDoubt(now):
		return hint("Another question has just ended, so it is not clear which one you mean, and nothing was answered. " + s.sayWhich())
	case s.count() == 1:
		return s.settleOn(s.all()[0], false, w, a, now)
	case len(s.overdue) == s.count():
		return late(s.overdue, now)
	}
	return hint("Several questions are open, so nothing was answered. " + s.howTo())
}

// settleOn rules on an answer to this very question. The order of the tests is the order of time:
// not open yet, too late, in time.
func (s seen) settleOn(q Question, byQuote bool, w words, a Answer, now clock.Stamp) Ruling {
	if q.Opened.IsZero() {
		return s.hintOnce(Hint, []Question{q}, now, "Question "+q.Name()+" was not yet delivered when you answered. Please answer again once you see it.")
	}
	if !byQuote && !a.Live && a.SentAt.Before(q.Opened) {
		return hint("Question " + q.Name() + " was not yet open when you wrote that. Please answer again: yes or no.")
	}
	if q.overdue(now) {
		return late([]Question{q}, now)
	}
	q = q.end(now, w.answer)
	sum := sha256.Sum256([]byte(q.Question))
	q.Receipt = &wire.ConfirmReceipt{
		Sender: a.Sender, Chat: q.Account, MessageID: a.MessageID, Word: w.word,
		AtUnixMillis: clock.Stamp{Wall: a.SentAt}.UnixMillis(), QuestionSHA256: hex.EncodeToString(sum[:]),
	}
	line := q.line(stopped)
	if w.answer == wire.Yes {
		line = q.line(goingAhead)
	}
	return Ruling{Verdict: Answered, Changed: []Question{q}, Lines: []string{line}}
}

// late ends questions whose time was up when the answer was read.
func late(questions []Question, now clock.Stamp) Ruling {
	r := Ruling{Verdict: Late}
	for _, q := range questions {
		q, _ = q.settle(now)
		r.Changed = append(r.Changed, q)
		r.Lines = append(r.Lines, q.line(tooLate))
	}
	return r
}

// hint tells the owner that an attempt to answer changed nothing: each time, since he waits for it.
func hint(text string) Ruling { return Ruling{Verdict: Hint, Lines: []string{text}} }

// hintOnce gives the one hint that each question has. When all had it, the verdict stands without words.
func (s seen) hintOnce(v Verdict, of []Question, now clock.Stamp, text string) Ruling {
	r := Ruling{Verdict: v}
	for _, q := range of {
		if !q.Hinted {
			q.Hinted = true
			r.Changed = append(r.Changed, q.Note(now))
			r.Lines = []string{text}
		}
	}
	return r
}

func (s seen) unhinted() bool {
	return slices.ContainsFunc(s.live, func(q Question) bool { return !q.Hinted })
}

// howTo says how to answer what is open.
func (s seen) howTo() string {
	if waiting := slices.Concat(s.live, s.early); len(waiting) == 1 {
		return "To answer " + waiting[0].Name() + ", write exactly yes or no."
	}
	return s.sayWhich()
}

// sayWhich says how to answer by a code.
func (s seen) sayWhich() string {
	waiting := slices.Concat(s.live, s.early)
	if len(waiting) == 0 {
		return "Nothing is open any more."
	}
	var names strings.Builder
	for _, q := range waiting {
		names.WriteString("\n" + q.Name())
	}
	code := waiting[0].Code
	return fmt.Sprintf("Say which, such as yes %s or no %s:%s", code, code, names.String())
}
