package confirm_test

import (
	"strings"
	"testing"
	"time"

	"scv/daemon/confirm"
	"scv/internal/clock"
	"scv/wire"
)

type (
	Q = confirm.Question
	A = confirm.Answer
)

// TestWhoAndWhere: only the owner, in that direct chat, with nothing attached, at a known time.
func TestWhoAndWhere(t *testing.T) {
	cases := []struct {
		name   string
		change func(*A)
		want   confirm.Verdict
	}{
		{"the owner", func(*A) {}, confirm.Answered},
		{"a stranger", func(a *A) { a.Sender = "ou_other" }, confirm.NotForUs},
		{"nobody", func(a *A) { a.Sender = "" }, confirm.NotForUs},
		{"in a group", func(a *A) { a.Direct = false }, confirm.NotForUs},
		{"another chat", func(a *A) { a.Chat = "chat-2" }, confirm.NotForUs},
		{"another account", func(a *A) { a.Account = "lark:default" }, confirm.NotForUs},
		{"with a file", func(a *A) { a.Attachments = 1 }, confirm.HintAndTurn},
		{"with a file and a code", func(a *A) { a.Attachments, a.Text = 1, "yes 3f" }, confirm.HintAndTurn},
		{"without a send time", func(a *A) { a.SentAt = time.Time{} }, confirm.HintAndTurn},
		{"without a send time, with a quote", func(a *A) { a.SentAt, a.Quotes, a.Quoted = time.Time{}, "om_q", "q" }, confirm.HintAndTurn},
		{"without a send time, live", func(a *A) { a.SentAt, a.Live = time.Time{}, true }, confirm.HintAndTurn},
		{"quoting another message", func(a *A) { a.Quotes = "om_9" }, confirm.HintAndTurn},
		{"quoting another message, with the code", func(a *A) { a.Quotes, a.Text = "om_9", "yes 3f" }, confirm.Answered},
		{"quoting an ended question", func(a *A) { a.Quotes, a.Quoted = "om_9", "gone" }, confirm.HintAndTurn},
		{"quoting the question", func(a *A) { a.Quotes, a.Quoted = "om_q", "q" }, confirm.Answered},
		{"at the opening", func(a *A) { a.SentAt = start.Add(time.Second) }, confirm.Answered},
		{"just before the opening", func(a *A) { a.SentAt = start.Add(time.Second - 1) }, confirm.Hint},
		{"before the opening, quoting", func(a *A) { a.SentAt, a.Quotes, a.Quoted = start, "om_q", "q" }, confirm.Answered},
		{"before the opening, live", func(a *A) { a.SentAt, a.Live = start.Add(-time.Hour), true }, confirm.Answered},
		{"before it was asked", func(a *A) { a.SentAt = start.Add(-1) }, confirm.NotForUs},
		{"an everyday word from before", func(a *A) { a.SentAt, a.Text = start.Add(-1), "ok" }, confirm.NotForUs},
		{"an everyday word with a file", func(a *A) { a.Attachments, a.Text = 1, "ok" }, confirm.NotForUs},
		{"an everyday word to another message", func(a *A) { a.Quotes, a.Text = "om_9", "ok" }, confirm.NotForUs},
	}
	for _, c := range cases {
		a := says("yes")
		c.change(&a)
		r := confirm.Judge([]Q{opened(t, "q", 0x3f)}, a, at(2*time.Minute))
		if r.Verdict != c.want {
			t.Errorf("%s: verdict %d, want %d", c.name, r.Verdict, c.want)
		}
		if ended := len(r.Changed) == 1 && r.Changed[0].State == wire.Yes; ended != (c.want == confirm.Answered) {
			t.Errorf("%s: %+v", c.name, r.Changed)
		}
	}
}

// TestNobodyOwnsAnOwnerlessQuestion: an empty owner must not match an empty sender.
func TestNobodyOwnsAnOwnerlessQuestion(t *testing.T) {
	q, a := opened(t, "q", 0x3f), says("yes")
	q.Owner, a.Sender = "", ""
	if r := confirm.Judge([]Q{q}, a, at(2*time.Minute)); r.Verdict != confirm.NotForUs {
		t.Errorf("%+v", r)
	}
}

// TestSeveralOpen: never both, never the wrong one.
func TestSeveralOpen(t *testing.T) {
	one, two := opened(t, "one", 0x3f), opened(t, "two", 0x7a)
	sending := question(t, "sending", 0x11).Attempt(at(0))
	queued := question(t, "queued", 0x22)
	short := opened(t, "short", 0x55)
	short.Timeout = time.Minute
	cases := []struct {
		name     string
		open     []Q
		text     string
		quoted   string
		want     confirm.Verdict
		answered string // id
	}{
		{"a bare word is ambiguous", []Q{one, two}, "yes", "", confirm.Hint, ""},
		{"the code of the first", []Q{one, two}, "yes 3f", "", confirm.Answered, "one"},
		{"the code of the second", []Q{one, two}, "no 7a", "", confirm.Answered, "two"},
		{"an unknown code", []Q{one, two}, "yes 7b", "", confirm.Hint, ""},
		{"a quote", []Q{one, two}, "yes", "two", confirm.Answered, "two"},
		{"a quote and its code", []Q{one, two}, "yes 7a", "two", confirm.Answered, "two"},
		{"a quote and the other code", []Q{one, two}, "yes 3f", "two", confirm.Hint, ""},
		{"a quote of an ended one", []Q{one, two}, "yes", "gone", confirm.HintAndTurn, ""},
		{"one more whose text may be there already", []Q{one, sending}, "yes", "", confirm.Hint, ""},
		{"one more that was never sent", []Q{one, queued}, "yes", "", confirm.Answered, "one"},
		{"one more whose time is up, unnoticed", []Q{one, short}, "yes", "", confirm.Hint, ""},
		{"its code", []Q{one, short}, "yes 55", "", confirm.Late, ""},
		{"both with their time up", []Q{short, func() Q { q := two; q.Timeout = time.Minute; return q }()}, "yes", "", confirm.Late, ""},
		{"the code of one that is being sent", []Q{one, sending}, "yes 11", "", confirm.Hint, ""},
		{"the code of one that was never sent", []Q{one, queued}, "yes 22", "", confirm.Hint, ""},
		{"only one that is being sent", []Q{sending}, "yes", "", confirm.Hint, ""},
		{"an everyday word before anything is open", []Q{sending}, "ok", "", confirm.NotForUs, ""},
		{"more words before anything is open", []Q{sending}, "yes, but", "", confirm.NotForUs, ""},
		{"only one that was never sent", []Q{queued}, "yes", "", confirm.NotForUs, ""},
		{"none", nil, "yes", "", confirm.NotForUs, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := says(c.text)
			if c.quoted != "" {
				a.Quotes, a.Quoted = "om_q", c.quoted
			}
			r := confirm.Judge(c.open, a, at(2*time.Minute))
			if r.Verdict != c.want {
				t.Errorf("verdict %d, want %d: %q", r.Verdict, c.want, r.Lines)
			}
			answered := ""
			for _, q := range r.Changed {
				if q.State == wire.Yes || q.State == wire.No {
					answered += q.ID
				}
			}
			if answered != c.answered {
				t.Errorf("answered %q, want %q", answered, c.answered)
			}
			if c.want == confirm.Hint && len(r.Lines) != 1 {
				t.Errorf("%d hints", len(r.Lines))
			}
		})
	}
}

// TestAmbiguousAnswerIsHintedEachTime: the owner waits for an effect; and nothing is changed.
func TestAmbiguousAnswerIsHintedEachTime(t *testing.T) {
	open := []Q{opened(t, "one", 0x3f), opened(t, "two", 0x7a)}
	for range 3 {
		r := confirm.Judge(open, says("yes"), at(2*time.Minute))
		if r.Verdict != confirm.Hint || len(r.Lines) != 1 || len(r.Changed) != 0 {
			t.Fatalf("%+v", r)
		}
		for _, name := range []string{"3f «Deploy one?»", "7a «Deploy two?»"} {
			if !strings.Contains(r.Lines[0], name) {
				t.Errorf("the hint does not name %s: %q", name, r.Lines[0])
			}
		}
	}
}

// TestEarlyAnswer: a word between the first delivery attempt and the opening gets one hint, no turn.
func TestEarlyAnswer(t *testing.T) {
	open := []Q{question(t, "q", 0x3f).Attempt(at(0))}
	for i := range 3 {
		r := confirm.Judge(open, says("yes"), at(2*time.Minute))
		if r.Verdict != confirm.Hint || len(r.Lines) != map[bool]int{true: 1, false: 0}[i == 0] {
			t.Fatalf("word %d: %+v", i, r)
		}
		if len(r.Changed) == 1 {
			open = r.Changed
		}
	}
}

// TestDeadlineIsJudgedWhenRead: the send time does not save an answer, and the chat text agrees with
// the state.
func TestDeadlineIsJudgedWhenRead(t *testing.T) {
	for _, c := range []struct {
		now  time.Duration
		want wire.ConfirmState
	}{
		{timeout - time.Second, wire.Yes},
		{timeout - 10*time.Millisecond, wire.Yes},
		{timeout - 1, wire.Yes},
		{timeout, wire.Expired},
		{timeout + 10*time.Millisecond, wire.Expired},
		{timeout + time.Second, wire.Expired},
	} {
		a := says("yes")
		a.SentAt = start.Add(timeout - time.Minute)
		r := confirm.Judge([]Q{opened(t, "q", 0x3f)}, a, at(c.now))
		if len(r.Changed) != 1 || r.Changed[0].State != c.want || len(r.Lines) != 1 || r.Verdict.Turn() {
			t.Fatalf("read at %v: %+v", c.now, r)
		}
		begin := map[wire.ConfirmState]string{wire.Yes: "Going ahead: 3f", wire.Expired: "Your answer came too late"}[c.want]
		if !strings.HasPrefix(r.Lines[0], begin) {
			t.Errorf("read at %v: %s, and the chat is told %q", c.now, c.want, r.Lines[0])
		}
		if (r.Changed[0].Receipt != nil) != (c.want == wire.Yes) {
			t.Errorf("read at %v: receipt %+v", c.now, r.Changed[0].Receipt)
		}
	}
}

// TestPlatformClockBehind: where the platform gives its own send time, answers are compared with it,
// not with our clock.
func TestPlatformClockBehind(t *testing.T) {
	q, _ := question(t, "q", 0x3f).Attempt(at(0)).Accept(at(time.Second), start.Add(-time.Hour))
	a := says("yes")
	a.SentAt = start.Add(-time.Hour + 5*time.Second)
	if r := confirm.Judge([]Q{q}, a, at(10*time.Second)); r.Verdict != confirm.Answered {
		t.Errorf("%+v", r)
	}
}

// TestJudgeOrder: hints list the questions as they were asked, whatever order the store has them in.
func TestJudgeOrder(t *testing.T) {
	older, newer := opened(t, "older", 0xff), opened(t, "newer", 0x01)
	newer.Asked = clock.Stamp{Wall: start.Add(time.Second), BootID: "boot-1", Boot: time.Hour + time.Second}
	r := confirm.Judge([]Q{newer, older}, says("yes"), at(2*time.Minute))
	if !strings.Contains(r.Lines[0], "\nff «Deploy older?»\n01 «Deploy newer?»") {
		t.Errorf("%q", r.Lines)
	}
}
