package turn

import (
	"context"
	"strings"
	"testing"
	"time"

	"scv/daemon/agent"
	"scv/internal/testexe"
	"scv/store"
)

// stays makes the world's agent one that speaks ACP and remembers its conversations.
func (w *world) stays(turns ...[]testexe.ACPStep) {
	acp := testexe.ACP{Sessions: w.home, Turns: turns}
	path, args := testexe.Command(testexe.Script{{ACP: &acp}})
	w.agents = agent.FromConfig(map[string]agent.Command{"fake": {Driver: "acp", Command: append([]string{path}, args...)}}, nil)
}

// spoken waits for so many replies in all; the live agent's record stays.
func (w *world) spoken(n int) []store.Outbound {
	w.t.Helper()
	until(w.t, "the replies", func() bool { return len(w.replies()) >= n && len(w.claims()) == 0 })
	return w.replies()
}

func TestLiveAgent(t *testing.T) {
	w := newWorld(t)
	w.stays([]testexe.ACPStep{{Recall: true}})
	w.run()
	w.claim("c", "one")
	if r := w.spoken(1); r[0].Text != "one" || r[0].Kind != "reply" {
		t.Fatalf("%+v", r)
	}
	first := w.live(1)[0]
	w.claim("c", "two")
	if r := w.spoken(2); r[1].Text != "one|two" {
		t.Errorf("%+v", r[1])
	}
	if again := w.live(1)[0]; again.Handle != first.Handle || again.Turn != 2 || again.IdleSince.Zero() || again.Account != account {
		t.Errorf("%+v", again)
	}
	w.open() // a restart: the agent of before is closed with it
	if n := len(w.records()); n != 0 {
		t.Errorf("%d records are left", n)
	}
	w.run()
	w.claim("c", "three")
	if r := w.spoken(3); r[2].Text != "one|two|three" {
		t.Errorf("%+v", r[2])
	}
}

func TestLiveAgentFails(t *testing.T) {
	for name, test := range map[string]struct {
		steps []testexe.ACPStep
		says  []string
	}{
		"error":   {[]testexe.ACPStep{{Fail: "quota used up"}}, []string{"error -32603", "It last said:", "quota used up"}},
		"refuses": {[]testexe.ACPStep{{Say: "half"}, {Stop: "refusal"}}, []string{"refused"}},
		"dies":    {[]testexe.ACPStep{{Say: "half"}, {Do: &testexe.Step{PrintErr: "out of luck"}}, {Do: &testexe.Step{KillSelf: true}}}, []string{"in the middle of its turn", "It last said:", "out of luck"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.stays(test.steps, []testexe.ACPStep{{Recall: true}})
			w.run()
			w.claim("c", "one")
			r := w.spoken(1)[0]
			for _, says := range test.says {
				if r.Kind != "failure" || !strings.Contains(r.Text, says) || strings.Contains(r.Text, "half") {
					t.Errorf("%s: %q lacks %q", r.Kind, r.Text, says)
				}
			}
			if name == "dies" {
				until(t, "its record to be closed", func() bool { return len(w.records()) == 0 })
				return
			}
			w.claim("c", "two")
			if r := w.spoken(2)[1]; r.Text != "one|two" {
				t.Errorf("%q", r.Text)
			}
		})
	}
}

func TestLiveAgentKilledByHandle(t *testing.T) {
	w := newWorld(t)
	w.stays([]testexe.ACPStep{{Do: &testexe.Step{WritePID: w.file("began")}}, {Do: &testexe.Step{SleepMillis: forever}}})
	w.run()
	w.claim("c", "hello")
	until(t, "the turn", func() bool { return exists(w.file("began")) })
	must(t, w.runs.Kill(context.Background(), w.live(1)[0].Handle))
	if text := w.says("failure"); text != "The agent fake was stopped on request." {
		t.Errorf("says %q", text)
	}
}

func TestLiveAgentTakesTooLong(t *testing.T) {
	w := newWorld(t)
	w.stays([]testexe.ACPStep{{WaitCancel: true}}, []testexe.ACPStep{{Recall: true}})
	w.limits.Owner = time.Second
	w.run()
	w.claim("c", "hello")
	if r := w.spoken(1)[0]; r.Text != "The agent fake was stopped because it took longer than 1s." {
		t.Errorf("says %q", r.Text)
	}
}

// The daemon stops in the middle of a turn: nothing is left; the next start says so, and the turn after it goes
// on in the agent's memory, though it was the very first.
func TestLiveAgentStoppedInATurn(t *testing.T) {
	w := newWorld(t)
	w.stays([]testexe.ACPStep{{Do: &testexe.Step{WritePID: w.file("began")}}, {Do: &testexe.Step{SleepMillis: forever}}})
	w.run()
	w.claim("c", "one")
	until(t, "the turn", func() bool { return exists(w.file("began")) })
	w.stop()
	if err := leftovers(); err != nil {
		t.Error(err)
	}
	if claims := w.claims(); len(claims) != 1 || len(w.records()) != 0 || len(w.replies()) != 0 {
		t.Fatalf("claims %+v, records %+v, replies %+v", claims, w.records(), w.replies())
	}
	w.stays([]testexe.ACPStep{{Recall: true}})
	w.open()
	w.run()
	w.claim("c", "two")
	if r := w.spoken(2); !strings.Contains(r[0].Text, "not started again") || r[1].Text != "one|two" {
		t.Errorf("%+v", r)
	}
}

// The run had ended in the middle of its turn before the daemon crashed.
func TestLiveAgentEndedBeforeTheCrash(t *testing.T) {
	w := newWorld(t)
	w.stays()
	w.earlier("fake-000001", store.Delegation{State: store.RunEnded, ExitCode: 3}, "")
	w.claim("c", "hello", begun("fake-000001"))
	w.run()
	if text := w.says("failure"); !strings.Contains(text, "in the middle of its turn") {
		t.Errorf("says %q", text)
	}
}

// An agent that does not know its session any more: the next turn begins a new one.
func TestSessionLost(t *testing.T) {
	w := newWorld(t)
	w.stays([]testexe.ACPStep{{Recall: true}})
	must(t, w.store.Deliver(t.Context(), func(tx *store.Delivery) error {
		return tx.PutConversation(account, "c", store.Conversation{Agent: "fake", Session: "session-gone", Turns: 3, LastUse: w.clk.Now()})
	}))
	w.run()
	w.claim("c", "one")
	if r := w.spoken(1)[0]; !strings.HasPrefix(r.Text, "[the agent could not take up the earlier conversation") || !strings.HasSuffix(r.Text, "\n\none") {
		t.Errorf("says %q", r.Text)
	}
	w.view(func(v *store.View) {
		if c, _ := v.Conversation(account, "c"); c.Session == "session-gone" || c.Session == "" || c.Turns != 4 {
			t.Errorf("%+v", c)
		}
	})
}
