package confirm_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"scv/daemon/confirm"
	"scv/wire"

	"github.com/google/go-cmp/cmp"
)

func code(err error) wire.Code {
	var refusal *wire.Error
	if errors.As(err, &refusal) {
		return refusal.Code
	}
	return ""
}

func TestNew(t *testing.T) {
	ask := confirm.Ask{Account: account, Chat: chat, Owner: owner, Asker: "claude-abcdef", Question: "  Deploy?\n "}
	q, err := confirm.New(ask, at(0), "0123456789ab", never, func(n int) int { return 0x0f })
	want := confirm.Question{
		ID: "0123456789ab", Code: "0f", Account: account, Chat: chat, Owner: owner, Asker: "claude-abcdef",
		Question: "Deploy?", Timeout: 30 * time.Minute, Asked: at(0), Noted: at(0), LastPolled: at(0), State: wire.Pending,
	}
	if diff := cmp.Diff(want, q); diff != "" || err != nil {
		t.Error(err, diff)
	}
	for name, c := range map[string]struct {
		change func(*confirm.Ask)
		want   wire.Code
	}{
		"empty":       {func(a *confirm.Ask) { a.Question = " \n\t\u00a0" }, wire.InvalidRequest},
		"4097 bytes":  {func(a *confirm.Ask) { a.Question = strings.Repeat("x", 4097) }, wire.InvalidRequest},
		"1 MiB":       {func(a *confirm.Ask) { a.Question = strings.Repeat("x", 1<<20) }, wire.InvalidRequest},
		"4096 bytes":  {func(a *confirm.Ask) { a.Question = " " + strings.Repeat("x", 4096) + " " }, ""},
		"no owner":    {func(a *confirm.Ask) { a.Owner = "" }, wire.ConfirmError},
		"no chat":     {func(a *confirm.Ask) { a.Chat = "" }, wire.ConfirmError},
		"no account":  {func(a *confirm.Ask) { a.Account = "" }, wire.ConfirmError},
		"no asker":    {func(a *confirm.Ask) { a.Asker = "" }, ""},
		"unchanged":   {func(*confirm.Ask) {}, ""},
		"zero second": {func(a *confirm.Ask) { a.TimeoutSeconds = new(uint64(0)) }, wire.InvalidRequest},
	} {
		a := ask
		c.change(&a)
		if _, err := confirm.New(a, at(0), "id", never, func(int) int { return 0 }); code(err) != c.want || (err == nil) != (c.want == "") {
			t.Errorf("%s: %v, want code %q", name, err, c.want)
		}
	}
}

func TestTimeoutIsClamped(t *testing.T) {
	for seconds, want := range map[uint64]time.Duration{
		1: time.Second, 14400: 4 * time.Hour, 14401: 4 * time.Hour, 9223372037: 4 * time.Hour,
		36028797018963969: 4 * time.Hour, math.MaxUint64: 4 * time.Hour,
	} {
		ask := confirm.Ask{Account: account, Chat: chat, Owner: owner, Question: "?", TimeoutSeconds: &seconds}
		q, err := confirm.New(ask, at(0), "id", never, func(int) int { return 0 })
		if err != nil || q.Timeout != want {
			t.Errorf("%d seconds: %v, %v", seconds, q.Timeout, err)
		}
		if got := confirm.Info(q).DeadlineUnixSeconds; got != uint64(start.Add(want).Unix()) {
			t.Errorf("%d seconds: deadline %d", seconds, got)
		}
	}
}

func TestCodes(t *testing.T) {
	ask := confirm.Ask{Account: account, Chat: chat, Owner: owner, Question: "?"}
	used := map[string]bool{}
	for i := range 300 { // more than two digits can tell apart
		q, err := confirm.New(ask, at(0), "id", func(c string) bool { return used[c] }, func(n int) int { return n - 3 })
		if err != nil || used[q.Code] {
			t.Fatalf("question %d: code %q again, or %v", i, q.Code, err)
		}
		if want := map[bool]int{true: 2, false: 3}[i < 256]; len(q.Code) != want {
			t.Fatalf("question %d: code %q", i, q.Code)
		}
		used[q.Code] = true
	}
	_, err := confirm.New(ask, at(0), "id", func(string) bool { return true }, func(int) int { return 0 })
	if code(err) != wire.ConfirmError {
		t.Errorf("all codes in use: %v", err)
	}
}

func TestAdmit(t *testing.T) {
	many := func(n int, change func(*confirm.Question)) []confirm.Question {
		var open []confirm.Question
		for i := range n {
			q := question(t, fmt.Sprint(i), i)
			change(&q)
			open = append(open, q)
		}
		return open
	}
	same := func(*confirm.Question) {}
	byRun := func(q *confirm.Question) { q.Asker, q.Chat = "claude-abcdef", "elsewhere" }
	ended := func(q *confirm.Question) { q.State, q.Asker = wire.Yes, "claude-abcdef" }
	cases := []struct {
		name  string
		open  []confirm.Question
		asker string
		ok    bool
	}{
		{"none", nil, "", true},
		{"7 in this chat", many(7, same), "", true},
		{"8 in this chat", many(8, same), "", false},
		{"8 in another chat", many(8, func(q *confirm.Question) { q.Chat = "elsewhere" }), "", true},
		{"8 in the same chat id of another account", many(8, func(q *confirm.Question) { q.Account = "lark:x" }), "", true},
		{"8 that ended", many(8, ended), "claude-abcdef", true},
		{"2 of this run", many(2, byRun), "claude-abcdef", true},
		{"3 of this run", many(3, byRun), "claude-abcdef", false},
		{"3 of another run", many(3, byRun), "codex-abcdef", true},
		{"3 of nobody's run", many(3, same), "", true},
	}
	for _, c := range cases {
		err := confirm.Admit(c.open, confirm.Ask{Account: account, Chat: chat, Asker: c.asker})
		if (err == nil) != c.ok || (!c.ok && code(err) != wire.ConfirmError) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
