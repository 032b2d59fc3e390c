package confirm_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"scv/daemon/confirm"
	"scv/wire"

	"github.com/google/go-cmp/cmp"
)

var columns = []string{"queued", "sending", "open", "ended"}

// table reads the rows of the table in the package doc: event → what each state becomes.
func table(t *testing.T) map[string][]string {
	t.Helper()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for line := range strings.SplitSeq(string(doc), "\n") {
		if row, ok := strings.CutPrefix(line, "//\t"); ok {
			cells := regexp.MustCompile(`\s+`).Split(strings.TrimSpace(row), -1)
			cut := len(cells) - len(columns)
			rows[strings.Join(cells[:cut], " ")] = cells[cut:]
		}
	}
	if diff := cmp.Diff(columns, rows["event"]); diff != "" {
		t.Fatalf("the heading is not what this test knows: %s", diff)
	}
	delete(rows, "event")
	return rows
}

func judged(text string, now time.Duration) func(confirm.Question) (confirm.Question, string) {
	return func(q confirm.Question) (confirm.Question, string) {
		r := confirm.Judge([]confirm.Question{q}, says(text), at(now))
		if len(r.Changed) == 1 && r.Changed[0].State.Final() {
			return r.Changed[0], strings.Join(r.Lines, "\n")
		}
		return q, ""
	}
}

func events() map[string]func(confirm.Question) (confirm.Question, string) {
	soon := at(2 * time.Minute)
	type Q = confirm.Question
	return map[string]func(Q) (Q, string){
		"attempt":             func(q Q) (Q, string) { return q.Attempt(soon), "" },
		"note":                func(q Q) (Q, string) { return q.Note(soon), "" },
		"accept":              func(q Q) (Q, string) { return q.Accept(soon, start.Add(2*time.Minute)) },
		"refuse":              func(q Q) (Q, string) { return q.Refuse(soon), "" },
		"poll":                func(q Q) (Q, string) { q, _ = q.Poll(soon); return q, "" },
		"withdraw":            func(q Q) (Q, string) { return q.Withdraw(soon) },
		"60 s unpolled":       func(q Q) (Q, string) { return q.Tick(soon, at(time.Minute)) },
		"deadline":            func(q Q) (Q, string) { return q.Tick(at(timeout), at(timeout)) },
		"attempt at deadline": func(q Q) (Q, string) { return q.Attempt(at(timeout)), "" },
		"accept at deadline":  func(q Q) (Q, string) { return q.Accept(at(timeout), start.Add(timeout)) },
		"yes":                 judged("yes", 2*time.Minute),
		"no":                  judged("no", 2*time.Minute),
		"yes at deadline":     judged("yes", timeout),
	}
}

func stateName(q confirm.Question) string {
	switch {
	case q.State != wire.Pending:
		return string(q.State)
	case !q.Opened.IsZero():
		return "open"
	case q.Attempted:
		return "sending"
	}
	return "queued"
}

// TestTable holds the table of the package doc to the code, and the code to the table. It also holds
// the rule of the lines: an opened question that ends has one line with its code, no other has any.
func TestTable(t *testing.T) {
	rows, acts := table(t), events()
	from := map[string]confirm.Question{
		"queued": question(t, "q", 0x3f), "sending": question(t, "q", 0x3f).Attempt(at(0)), "open": opened(t, "q", 0x3f),
	}
	for event := range acts {
		if rows[event] == nil {
			t.Errorf("event %q is not in the table", event)
		}
	}
	for event, cells := range rows {
		act := acts[event]
		if act == nil {
			t.Fatalf("the table has an event %q that nobody tests", event)
		}
		for i, column := range columns[:3] {
			q, line := act(from[column])
			if got := stateName(q); got != cells[i] {
				t.Errorf("%s, %s: got %s, the table says %s", column, event, got, cells[i])
			}
			told := column == "open" && q.State.Final() || event == "accept at deadline" // it has reached the chat
			if told != strings.Contains(line, "3f «") {
				t.Errorf("%s, %s: line %q", column, event, line)
			}
			if q.State.Final() == q.Ended.Zero() {
				t.Errorf("%s, %s: state %s, ended at %v", column, event, q.State, q.Ended)
			}
		}
		for _, final := range []wire.ConfirmState{wire.Yes, wire.No, wire.Expired, wire.Withdrawn, wire.NotAsked} {
			q := opened(t, "q", 0x3f)
			q.State, q.Ended = final, at(time.Minute)
			got, line := act(q)
			if diff := cmp.Diff(q, got); diff != "" || line != "" || cells[3] != "ended" {
				t.Errorf("%s, %s changed an ended question (line %q): %s", final, event, line, diff)
			}
		}
	}
}

// TestAcceptedTooLate: the text reached the chat although the question had ended meanwhile; the owner
// must hear that it does not count.
func TestAcceptedTooLate(t *testing.T) {
	withdrawn, line := question(t, "q", 0x3f).Attempt(at(0)).Withdraw(at(time.Second))
	if line != "" {
		t.Errorf("the chat was told of a question it had not seen: %q", line)
	}
	cases := map[string]struct {
		q   confirm.Question
		now time.Duration
	}{
		"withdrawn while sending": {withdrawn, 2 * time.Second},
		"accepted at deadline":    {question(t, "q", 0x3f).Attempt(at(0)), timeout},
	}
	for name, c := range cases {
		q, line := c.q.Accept(at(c.now), start.Add(c.now))
		if !strings.HasPrefix(line, "No longer asked") || !strings.Contains(line, "3f") {
			t.Errorf("%s: line %q", name, line)
		}
		if !q.Opened.IsZero() || !q.State.Final() {
			t.Errorf("%s: %s, opened %v", name, q.State, q.Opened)
		}
	}
}

// TestUnknownStateIsLeftAlone: a record of a newer daemon is not ours to change.
func TestUnknownStateIsLeftAlone(t *testing.T) {
	for event, act := range events() {
		q := opened(t, "q", 0x3f)
		q.State = wire.Unknown
		if got, line := act(q); cmp.Diff(q, got) != "" || line != "" {
			t.Errorf("%s changed it to %+v, line %q", event, got, line)
		}
	}
}
