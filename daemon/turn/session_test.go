package turn

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"scv/daemon/agent"
	"scv/daemon/chatcommand"
	"scv/internal/testexe"
	"scv/store"
	"scv/wire"
)

// program makes the only agent a script: it notes the session it is to go on with, named after word, and then
// does line, in which $session, $how and $text are known.
func (w *world) program(driver, word, line string) {
	path := w.file("program")
	must(w.t, os.WriteFile(path, []byte(`#!/bin/sh
session=new-$$; how=new
while [ $# -gt 0 ]; do case $1 in `+word+`) session=$2; how=resumed; shift;; esac; shift; done
text=$(cat); echo $how >>`+w.file("sessions")+`
`+line+"\n"), 0o700))
	w.agents = agent.FromConfig(map[string]agent.Command{"fake": {Driver: driver, Command: []string{path}}}, os.Environ())
}

// claude prints as Claude Code does.
func (w *world) claude(line string) { w.program("claude", "--resume", line) }

const (
	prints  = `printf '{"type":"result","subtype":"success","session_id":"%s","result":"%s"}\n' $session `
	answers = prints + `"$session: $text"`
)

// sessions is how each run began its session.
func (w *world) sessions() string {
	b, err := os.ReadFile(w.file("sessions"))
	must(w.t, err)
	return strings.Join(strings.Fields(string(b)), " ")
}

func (w *world) conversation(key string) (c store.Conversation) {
	w.view(func(v *store.View) { c, _ = v.Conversation(account, key) })
	return c
}

// A conversation goes on in the agent's session, over restarts too, and there is never more than one run of it.
func TestConversationKeepsItsSession(t *testing.T) {
	const times = 50
	w := newWorld(t)
	w.claude(answers)
	w.run()
	most := 0
	for i := range times {
		if i%20 == 10 {
			w.open()
			w.run()
		}
		w.claim("c", fmt.Sprint("message ", i))
		until(t, "an answer", func() bool {
			records := len(w.records())
			most = max(most, records)
			return len(w.replies()) > i && records == 0
		})
	}
	session := w.conversation("c").Session
	for i, r := range w.answered(times) {
		if r.Text != fmt.Sprintf("%s: message %d", session, i) {
			t.Errorf("answer %d of session %s: %q", i, session, r.Text)
		}
	}
	if want := "new" + strings.Repeat(" resumed", times-1); w.sessions() != want || most > 1 {
		t.Errorf("%d runs at once; %s", most, w.sessions())
	}
	w.claim("other", "hello")
	w.answered(times + 1)
	if !strings.HasSuffix(w.sessions(), " new") {
		t.Error("another conversation has the same session")
	}
}

// The daemon dies after a run has ended: the next one answers, however long the output was, and the
// conversation goes on.
func TestSessionOfALeftAnswer(t *testing.T) {
	for name, noise := range map[string]int{"short": 1, "long": 5000} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.claude(answers)
			w.earlier("fake-000001", store.Delegation{State: store.RunEnded}, strings.Repeat(`{"type":"user","message":"and so on"}`+"\n", noise)+
				`{"type":"result","subtype":"success","session_id":"s-1","result":"hello"}`+"\n")
			w.claim("c", "hello", begun("fake-000001"))
			w.run()
			if text := w.says("reply"); text != "hello" {
				t.Errorf("says %q", text)
			}
			if c := w.conversation("c"); c.Session != "s-1" {
				t.Errorf("%+v", c)
			}
		})
	}
}

// A run that prints far more than an answer is condensed, and its answer is at the end.
func TestAnswerBehindALongOutput(t *testing.T) {
	w := newWorld(t)
	w.claude(`yes '{"type":"user","message":"and so on"}' | head -n 30000; ` + answers)
	w.run()
	w.claim("c", "hello")
	if text := w.says("reply"); !strings.HasSuffix(text, ": hello") {
		t.Errorf("says %q", text)
	}
}

// An agent that has forgotten its session: the next message begins a new one.
func TestForgottenSession(t *testing.T) {
	const gone = `if [ $session = s-1 ]; then `
	for name, line := range map[string]string{
		"told on stdout": gone + `echo '{"type":"result","is_error":true,"errors":["No conversation found with session ID: x"]}'; exit 1; fi; ` + answers,
		"told on stderr": gone + `echo 'Error: no rollout found for thread id x' >&2; exit 1; fi; echo '{"type":"thread.started","thread_id":"'$session'"}'; printf '{"type":"item.completed","item":{"type":"agent_message","text":"%s"}}\n' "$session: $text"`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.claude(line)
			if name == "told on stderr" {
				w.program("codex", "resume", line)
			}
			must(t, w.store.Deliver(t.Context(), func(tx *store.Delivery) error {
				return tx.PutConversation(account, "c", store.Conversation{Agent: "fake", Session: "s-1", LastUse: w.clk.Now()})
			}))
			w.run()
			w.claim("c", "one")
			if text := w.says("failure"); !strings.Contains(text, "does not know the earlier conversation any more") || !strings.Contains(text, "Send your message again") {
				t.Errorf("says %q", text)
			}
			if c := w.conversation("c"); c.Session != "" || c.Agent != "fake" || c.Turns != 1 {
				t.Errorf("%+v", c)
			}
			w.claim("c", "two")
			w.claim("c", "three")
			replies := w.answered(3)
			session := w.conversation("c").Session
			if !strings.HasPrefix(session, "new-") || replies[1].Text != session+": two" {
				t.Errorf("session %q, says %q", session, replies[1].Text)
			}
			if got := w.sessions(); got != "resumed new resumed" {
				t.Errorf("sessions: %s", got)
			}
		})
	}
}

// A session is one agent's and of one folder.
func TestSessionBelongsToAgentAndFolder(t *testing.T) {
	for name, c := range map[string]store.Conversation{
		"another agent":  {Agent: "other", Session: "s-1"},
		"another folder": {Agent: "fake", Session: "s-1", Folder: "/elsewhere"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.claude(answers)
			must(t, w.store.Deliver(t.Context(), func(tx *store.Delivery) error {
				return tx.PutConversation(account, "c", c)
			}))
			w.run()
			w.claim("c", "one")
			w.answered(1)
			if got := w.sessions(); got != "new" {
				t.Errorf("sessions: %s", got)
			}
			if c := w.conversation("c"); c.Agent != "fake" || c.Folder != w.home || !strings.HasPrefix(c.Session, "new-") {
				t.Errorf("%+v", c)
			}
		})
	}
}

// Whoever may not use tools is answered by an agent that has a mode without, in an empty folder. What was
// learned with tools does not go on there.
func TestTurnsWithoutTools(t *testing.T) {
	w := newWorld(t)
	w.claude(prints + `"$(basename "$PWD") $text"`)
	w.run()
	w.claim("c", "one")
	w.answered(1)
	a := owned()
	a.RemoteTools = wire.ToolsNone
	w.set(a)
	w.claim("c", "two @x")
	w.claim("stranger", "/three", func(c *store.Claim) { c.Owner, c.Sender = false, "stranger" })
	w.answered(3)
	w.set(owned())
	w.claim("c", "four")
	got := map[string]bool{}
	for _, r := range w.answered(4) {
		got[r.Text] = true
	}
	for _, text := range []string{filepath.Base(w.home) + " one", "empty two @\u200bx", "empty \u200b/three", filepath.Base(w.home) + " four"} {
		if !got[text] {
			t.Errorf("nobody says %q: %v", text, got)
		}
	}
	w.claim("c", "five")
	w.claim("stranger", "six", func(c *store.Claim) { c.Owner, c.Sender = false, "stranger" })
	w.answered(6)
	if n := strings.Count(w.sessions(), "resumed"); n != 2 {
		t.Errorf("%d runs went on: %s", n, w.sessions())
	}
}

// The owner hears in the agent's own words why it failed; nobody else does.
func TestAgentsOwnWordsOnAFailure(t *testing.T) {
	for name, c := range map[string]struct{ owner, hears bool }{"the owner": {true, true}, "a stranger": {false, false}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.claude(`echo '{"type":"result","is_error":true,"result":"Not logged in"}'; echo noise >&2; exit 1`)
			w.run()
			w.claim("c", "one", func(cl *store.Claim) { cl.Owner = c.owner })
			text := w.says("failure")
			if strings.Contains(text, "It last said:\nNot logged in") != c.hears || strings.Contains(text, "noise") || !strings.Contains(text, "exit code 1") {
				t.Errorf("says %q", text)
			}
		})
	}
}

// What a thread began with is shown to an agent that does not know the conversation, and to no other.
func TestRootIsShownOnce(t *testing.T) {
	w := newWorld(t)
	w.stays([]testexe.ACPStep{{Recall: true}})
	w.run()
	rooted := func(c *store.Claim) { c.Root = "look\nat this" }
	for i, c := range []struct {
		text   string
		change func(*store.Claim)
		want   string
	}{
		{"one", rooted, "> look\n> at this\n\none"},
		{"two", rooted, "> look\n> at this\n\none|two"},
		{"/new", sayNew, chatcommand.Renewed},
		{"three", rooted, "> look\n> at this\n\nthree"},
	} {
		w.claim("c", c.text, c.change)
		if got := w.spoken(i + 1)[i].Text; got != c.want {
			t.Errorf("%s: %q, want %q", c.text, got, c.want)
		}
	}
}
