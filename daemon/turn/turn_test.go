package turn

import (
	"context"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"scv/daemon/agent"
	"scv/internal/testexe"
	"scv/store"
	"scv/wire"
)

func TestAnswer(t *testing.T) {
	w := newWorld(t, testexe.Step{Echo: true})
	w.run()
	row := w.claim("c", "hello")
	got := w.answered(1)[0]
	if got.Queued.Zero() {
		t.Error("no time of queueing")
	}
	want := store.Outbound{
		Kind: "reply", Chat: "chat c", Conversation: "c", InReplyTo: "m1", ReplyHandle: "token", Text: "hello",
		ClientID: clientID(row), Queued: got.Queued,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	w.claim("c", "again")
	w.answered(2)
	w.view(func(v *store.View) {
		if c, _ := v.Conversation(account, "c"); c.Turns != 2 || c.Agent != "fake" || c.LastUse.Zero() {
			t.Errorf("conversation %+v", c)
		}
	})
	w.stop()
	if left, err := os.ReadDir(w.file("runs")); err != nil || len(left) > 0 {
		t.Errorf("output is left: %v %v", left, err)
	}
}

// One turn at a time in a conversation, conversations side by side, no more at once than allowed.
func TestConversations(t *testing.T) {
	w := newWorld(t)
	w.agents = scripted(map[string]testexe.Script{"fake": {{WaitFile: w.file("go")}, {Echo: true}}})
	w.limits.Concurrent = 2
	for _, c := range []string{"a", "a", "a", "b", "c", "b"} {
		w.claim(c, "hello")
	}
	w.run()
	rows := w.live(2)
	if a, b := rows[0].Conversation, rows[1].Conversation; a+b != "ab" && a+b != "ba" {
		t.Errorf("turns of %s and %s", a, b)
	}
	w.engine.look(t.Context())
	if n := len(w.records()); n != 2 {
		t.Errorf("%d runs", n)
	}
	w.touch("go")
	last := map[string]string{}
	for _, reply := range w.answered(6) {
		if reply.InReplyTo < last[reply.Conversation] {
			t.Errorf("%s: %s after %s", reply.Conversation, reply.InReplyTo, last[reply.Conversation])
		}
		last[reply.Conversation] = reply.InReplyTo
	}
}

// A list of claims may be older than the answer to one of them.
func TestClaimAnsweredMeanwhile(t *testing.T) {
	w := newWorld(t, testexe.Step{Echo: true})
	row := w.claim("c", "hello")
	w.engine.answer(t.Context(), row)
	row.Claim.Handle = "fake-000001" // as a list made in the middle of its turn shows it
	w.engine.answer(t.Context(), row)
	if text := w.says("reply"); text != "hello" {
		t.Errorf("says %q", text)
	}
}

// An account is logged out while its agent works: no reply appears for nobody.
func TestAccountForgottenMeanwhile(t *testing.T) {
	w := newWorld(t)
	w.agents = scripted(map[string]testexe.Script{"fake": {{WaitFile: w.file("go")}, {Echo: true}}})
	w.run()
	w.claim("c", "hello")
	w.live(1)
	must(t, w.store.Deliver(t.Context(), func(tx *store.Delivery) error {
		_, err := tx.ForgetAccount(account, 100)
		return err
	}))
	w.touch("go")
	until(t, "the run to be closed", func() bool { return len(w.records()) == 0 })
	if replies := w.replies(); len(replies) != 0 {
		t.Errorf("replies %+v", replies)
	}
}

func TestTimeOut(t *testing.T) {
	w := newWorld(t, testexe.Step{IgnoreTerm: true}, testexe.Step{SleepMillis: forever})
	w.limits.Owner = 100 * time.Millisecond
	w.run()
	w.claim("c", "hello")
	if text := w.says("failure"); text != "The agent fake was stopped because it took longer than 100ms." {
		t.Errorf("says %q", text)
	}
}

func TestKilledByHandle(t *testing.T) {
	w := newWorld(t, testexe.Step{SleepMillis: forever})
	w.run()
	w.claim("c", "hello")
	must(t, w.runs.Kill(context.Background(), w.live(1)[0].Handle))
	if text := w.says("failure"); text != "The agent fake was stopped on request." {
		t.Errorf("says %q", text)
	}
}

// What an agent prints is cut at 64 KiB between characters, and cleaned.
func TestOutput(t *testing.T) {
	long := "x" + strings.Repeat("ä", MaxAnswer)
	tests := map[string]struct {
		script testexe.Script
		prompt string
		check  func(text string) bool
	}{
		"escapes": {testexe.Script{{Print: "\x1b[31mred\x1b[0m\x00 \x1b]0;title\x07text\r"}}, "", func(s string) bool { return s == "red text" }},
		"longest": {testexe.Script{{Echo: true}}, long[:MaxAnswer-1] + "y", func(s string) bool { return s == long[:MaxAnswer-1]+"y" }},
		"cut": {testexe.Script{{Echo: true}}, long, func(s string) bool {
			text, cut := strings.CutSuffix(s, "\n[cut here: the answer was longer than 64 KiB]")
			return cut && utf8.ValidString(text) && text == long[:MaxAnswer-1]
		}},
		"nul": {testexe.Script{{Echo: true}}, "a\x00b", func(s string) bool { return s == "a\uFFFDb" }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, test.script...)
			w.run()
			w.claim("c", test.prompt)
			if text := w.says("reply"); !test.check(text) {
				t.Errorf("%d bytes: %.40q … %.60q", len(text), text, text[max(0, len(text)-60):])
			}
		})
	}
}

// Bytes that are no text grow when they are cleaned; the reply does not.
func TestOutputGrowsByCleaning(t *testing.T) {
	w := newWorld(t)
	w.agents = agent.FromConfig(map[string]agent.Command{"fake": {
		Command: []string{"/bin/sh", "-c", `yes "$(printf 'x\377')" | head -c 60000`},
	}}, os.Environ())
	w.run()
	w.claim("c", "hello")
	text, cut := strings.CutSuffix(w.says("reply"), "\n[cut here: the answer was longer than 64 KiB]")
	if !cut || !utf8.ValidString(text) || len(text) > MaxAnswer || len(text) <= MaxAnswer-utf8.UTFMax {
		t.Errorf("cut %v, %d bytes", cut, len(text))
	}
}

func TestFailures(t *testing.T) {
	for name, test := range map[string]struct {
		script testexe.Script
		says   string
	}{
		"exit code": {testexe.Script{{Print: "half"}, {Exit: testexe.Code(3)}}, "exit code 3"},
		"signal":    {testexe.Script{{Print: "half"}, {KillSelf: true}}, "ended by a signal"},
		"nothing":   {testexe.Script{{Exit: testexe.Code(0)}}, "without an answer"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, test.script...)
			w.run()
			w.claim("c", "hello")
			if text := w.says("failure"); !strings.Contains(text, test.says) || strings.Contains(text, "half") || strings.Contains(text, "last said") {
				t.Errorf("says %q", text)
			}
		})
	}
}

// Why there is no turn at all, in words for the chat.
func TestNoTurn(t *testing.T) {
	one := scripted(map[string]testexe.Script{"fake": {{Echo: true}}})
	two := scripted(map[string]testexe.Script{"fake": {{Echo: true}}, "other": {{Echo: true}, {Print: "other"}}})
	none := agent.FromConfig(nil, nil)
	tests := []struct {
		name   string
		agents *agent.Registry
		change func(w *world, a *store.Account)
		says   []string
	}{
		{"the account's own agent", two, func(_ *world, a *store.Account) { a.Agent = "other" }, []string{"hello", "other"}},
		{"several", two, func(*world, *store.Account) {}, []string{"Several", "fake, other", "scv channels set local:default --agent"}},
		{"not configured any more", one, func(_ *world, a *store.Account) { a.Agent = "claude" }, []string{`"claude"`, "config.toml", "scv reload"}},
		{"none", none, func(*world, *store.Account) {}, []string{"No agent", "config.toml", "[agents.NAME]"}},
		{"none, but one is on this machine", none, func(w *world, _ *store.Account) {
			w.found = []agent.Found{{Program: agent.Known()[0], Path: "/bin/claude"}, {Program: agent.Known()[1]}}
		}, []string{"Claude Code is on this machine", "[agents.claude]"}},
		{"tools not granted", one, func(_ *world, a *store.Account) { a.RemoteTools = wire.ToolsNone }, []string{"not granted", "scv channels set local:default --remote-tools owner"}},
		{"no workspace", one, func(w *world, _ *store.Account) { w.folder = words("The workspace is gone.") }, []string{"The workspace is gone."}},
		{"no program", agent.FromConfig(map[string]agent.Command{"gone": {Command: []string{"/nowhere/gone"}}}, nil), func(*world, *store.Account) {}, []string{"gone", "not found"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.agents = test.agents
			a := owned()
			test.change(w, &a)
			w.set(a)
			w.engine.answer(t.Context(), w.claim("c", "hello"))
			text := w.answered(1)[0].Text
			for _, says := range test.says {
				if !strings.Contains(text, says) {
					t.Errorf("%q lacks %q", text, says)
				}
			}
		})
	}
}

// Whoever may not use tools gets no agent that has not proven to use none, whatever the account grants.
func TestWithoutTools(t *testing.T) {
	w := newWorld(t)
	w.agents = scripted(map[string]testexe.Script{"fake": {{WritePID: w.file("ran")}}})
	w.engine.answer(t.Context(), w.claim("c", "hello", func(c *store.Claim) { c.Owner, c.Sender = false, "stranger" }))
	if text := w.says("failure"); !strings.Contains(text, "without tools") || exists(w.file("ran")) {
		t.Errorf("says %q; ran %v", text, exists(w.file("ran")))
	}
}
