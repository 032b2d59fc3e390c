package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"scv/daemon/agent"
	"scv/internal/testexe"
	"scv/store"
	"scv/wire"
)

// recalling says all prompts of the conversation, and keeps them in dir.
func recalling(dir string) testexe.ACP {
	return testexe.ACP{Sessions: dir, Turns: [][]testexe.ACPStep{{{Recall: true}}}}
}

func TestOneProcessForAllTurns(t *testing.T) {
	w := newWorld(t, recalling(""))
	first := w.says("one", "one")
	d := w.record()
	if d.Handle != first.Handle || first.Ended || d.State != store.RunLive || d.IdleSince.Zero() || d.Turn != 1 {
		t.Errorf("%+v: %+v", first, d)
	}
	w.says("two", "one|two")
	if again := w.record(); again.Handle != d.Handle || again.Leader != d.Leader || again.Turn != 2 || again.MessageID != "m2" || again.IdleSince.Zero() {
		t.Errorf("%+v", again)
	}
	list, err := w.runs.List(false)
	if err != nil || len(list.Entries) != 1 || list.Active != 1 || *list.Idle != 1 || list.Entries[0].IdleSinceUnixSeconds == nil || *list.Entries[0].Turn != 2 {
		t.Errorf("%+v, %v", list, err)
	}
	w.stop()
	w.empty()
}

// While it works it is not idle, and after a turn that failed it stays.
func TestWorking(t *testing.T) {
	w := newWorld(t, testexe.ACP{})
	w.agent = scripted(testexe.Script{{ACP: &testexe.ACP{Turns: [][]testexe.ACPStep{
		{{Say: "one"}},
		{{Tool: "now"}, {Do: &testexe.Step{WaitFile: w.file("go")}}, {Stop: "refusal"}},
		{{Recall: true}},
	}}}})
	w.says("one", "one")
	ask := w.ask("two")
	ask.Progress = func(string) {
		if d := w.record(); !d.IdleSince.Zero() || d.Turn != 2 {
			t.Errorf("%+v", d)
		}
		if s, err := w.runs.Summary(); err != nil || s.Active != 1 || *s.Idle != 0 {
			t.Errorf("%+v, %v", s, err)
		}
		if working := w.pool.Working(); !slices.Equal(working, []string{w.record().Handle}) {
			t.Errorf("working %v", working)
		}
		must(t, os.WriteFile(w.file("go"), nil, 0o600))
	}
	if o := w.turn(ask); o.Err == nil || o.Ended {
		t.Errorf("%+v", o)
	}
	w.says("three", "one|two|three")
	if working := w.pool.Working(); working != nil {
		t.Errorf("working %v", working)
	}
}

func TestClosedWhenIdleForLong(t *testing.T) {
	w := newWorld(t, recalling(t.TempDir()))
	w.says("one", "one")
	w.clk.Suspend(29 * time.Minute)
	w.pool.look(t.Context())
	first := w.record()
	if len(w.pool.residents) != 1 || first.IdleSince.Zero() {
		t.Error("it was closed too early")
	}
	w.clk.Suspend(2 * time.Minute)
	w.empty() // by the pool's own look
	w.says("two", "one|two")
	if again := w.record(); again.Handle == first.Handle {
		t.Errorf("it is the same run %s", again.Handle)
	}
}

// Not closed: while a turn runs, while it waits for its owner, while something runs in its background.
func TestNotClosedWhileNeeded(t *testing.T) {
	jobs, none := uint32(2), uint32(0)
	w := newWorld(t, testexe.ACP{})
	w.agent = nested(testexe.Script{{ACP: &testexe.ACP{Turns: [][]testexe.ACPStep{
		{{Tool: "now"}, {Do: &testexe.Step{WaitFile: w.file("go")}}, {Say: "one"}},
		{{Jobs: &jobs}, {Say: "two"}},
		{{Jobs: &none}, {Say: "three"}},
	}}}})
	ask := w.ask("one")
	ask.Progress = func(string) {
		w.clk.Suspend(time.Hour)
		w.pool.look(t.Context())
		must(t, os.WriteFile(w.file("go"), nil, 0o600))
	}
	o := w.turn(ask)
	if o.Reply.Text != "one" {
		t.Fatalf("%+v", o)
	}
	question := store.Confirm{
		ID: "0123456789ab", Code: "3f", Account: account, Chat: "local", Owner: "owner", Question: "?", Asker: o.Handle,
		Timeout: 4 * time.Hour, Asked: w.clk.Now(), Noted: w.clk.Now(), LastPolled: w.clk.Now(), State: wire.Pending,
	}
	put := func() {
		must(t, w.store.Observe(t.Context(), func(tx *store.Observation) error { return tx.PutConfirm(question) }))
	}
	put()
	w.clk.Suspend(time.Hour)
	w.pool.look(t.Context())
	question.State, question.Ended = wire.Withdrawn, w.clk.Now()
	w.says("two", "two")
	put()
	until(t, "its jobs to be recorded", func() bool { return w.record().BackgroundJobs == 2 })
	if s, err := w.runs.Summary(); err != nil || *s.Idle != 0 || s.Active != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	w.clk.Suspend(time.Hour)
	w.pool.look(t.Context())
	w.says("three", "three")
	if d := w.record(); d.Handle != o.Handle {
		t.Errorf("%s became %s", o.Handle, d.Handle)
	}
	until(t, "no jobs to be recorded", func() bool { return w.record().BackgroundJobs == 0 })
	w.clk.Suspend(time.Hour)
	w.empty()
}

// Changed settings take effect with the next turn: the agent begins anew, in its own memory.
func TestChangedSettings(t *testing.T) {
	dir := t.TempDir()
	for name, change := range map[string]func(*world, *Ask){
		"workspace": func(_ *world, a *Ask) { a.Task.Workspace = dir },
		"command": func(_ *world, a *Ask) {
			other := recalling(dir)
			other.Turns[0] = append(other.Turns[0], testexe.ACPStep{Say: "!"})
			a.Agent = scripted(testexe.Script{{ACP: &other}})
		},
		"environment": func(_ *world, a *Ask) {
			acp := recalling(dir)
			path, args := testexe.Command(testexe.Script{{ACP: &acp}})
			a.Agent = agent.NewACP("fake", agent.Command{Command: append([]string{path}, args...)}, append(os.Environ(), "LC_X=y"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, recalling(dir))
			w.says("one", "one")
			before := w.record()
			ask := w.ask("two")
			change(w, &ask)
			if o := w.turn(ask); strings.TrimSuffix(o.Reply.Text, "!") != "one|two" {
				t.Fatalf("%+v", o)
			}
			if after := w.record(); after.Handle == before.Handle {
				t.Error("it is the same run")
			}
		})
	}
}

// An agent is not kept for a chat that may not use it any more.
func TestGrantTakenBack(t *testing.T) {
	for name, a := range map[string]store.Account{
		"no tools": {Enabled: true, RemoteTools: wire.ToolsNone, Senders: wire.SendersOwner, OwnerID: "owner"},
		"disabled": {Enabled: false, RemoteTools: wire.ToolsOwner, Senders: wire.SendersOwner, OwnerID: "owner"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, recalling(""))
			w.says("one", "one")
			w.set(a)
			w.empty()
		})
	}
}

func TestWithoutTools(t *testing.T) {
	w := newWorld(t, recalling(""))
	ask := w.ask("one")
	ask.Task.Tools = false
	if o := w.turn(ask); !errors.Is(o.Err, agent.ErrNoToolFree) || len(w.records()) != 0 {
		t.Errorf("%+v", o)
	}
}

// A background delegation has a run of its own, which ends with its one turn.
func TestOnce(t *testing.T) {
	w := newWorld(t, recalling(t.TempDir()))
	ask := w.ask("one")
	ask.Once = true
	o, err := w.pool.Turn(t.Context(), ask)
	if err != nil || !o.Ended || o.Err != nil || o.Reply.Text != "one" || o.Stopped != "" {
		t.Fatalf("%+v, %v", o, err)
	}
	if d := w.record(); d.State != store.RunEnded {
		t.Errorf("%+v", d)
	}
	must(t, w.runs.Reported(t.Context(), o.Handle))
	w.empty()
	ask = w.ask("two")
	ask.Once = true
	if o := w.turn(ask); o.Reply.Text != "one|two" {
		t.Errorf("%+v", o)
	}
}

// Fifty turns, each with a process of its own: one run at a time.
func TestResumedFiftyTimes(t *testing.T) {
	w := newWorld(t, recalling(t.TempDir()))
	want := ""
	for n := range 50 {
		want = strings.TrimPrefix(want+fmt.Sprint("|", n), "|")
		o := w.says(fmt.Sprint(n), want)
		s, err := w.runs.Summary()
		if err != nil || s.Active != 1 {
			t.Fatalf("%+v, %v", s, err)
		}
		must(t, w.runs.Kill(context.Background(), o.Handle))
	}
	w.empty()
}

func TestConversationsSideBySide(t *testing.T) {
	w := newWorld(t, recalling(""))
	for _, c := range []string{"a", "b", "a"} {
		ask := w.ask(c)
		ask.Key.Conversation, ask.About.Conversation = c, c
		if o := w.turn(ask); o.Err != nil {
			t.Fatal(o.Err)
		}
	}
	if n := len(w.records()); n != 2 {
		t.Errorf("%d runs", n)
	}
	w.stop()
	w.empty()
}
