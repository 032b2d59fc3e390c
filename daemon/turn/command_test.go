package turn

import (
	"context"
	"errors"
	"testing"

	"scv/daemon/chatcommand"
	"scv/internal/testexe"
	"scv/store"
)

const stoppedByOwner = "The agent fake was stopped because you asked for it with /stop."

// sayStop is what the daemon does with /stop in a conversation.
func (w *world) sayStop(conversation string) (work chatcommand.Work) {
	w.t.Helper()
	must(w.t, w.store.Deliver(context.Background(), func(tx *store.Delivery) (err error) {
		work, err = Stop(tx, account, conversation, w.clk.Now())
		return err
	}))
	w.engine.Wake()
	return work
}

func sayNew(c *store.Claim) { c.Command = string(chatcommand.New) }

// The run at work is stopped with all that it has started, its answer says so, and what waits behind it goes on,
// as do other conversations.
func TestStop(t *testing.T) {
	w := newWorld(t)
	waits := testexe.Step{WaitFile: w.file("go")}
	w.agents = scripted(map[string]testexe.Script{"fake": {
		{Spawn: &testexe.Spawn{Script: testexe.Script{{WritePID: w.file("child")}, {SleepMillis: forever}}}}, waits, {Echo: true},
	}})
	w.run()
	w.claim("a", "one")
	w.claim("a", "two")
	w.claim("b", "three")
	rows := w.live(2)
	until(t, "the child", func() bool { return exists(w.file("child")) })
	work := w.sayStop("a")
	if work.Stopped || !work.Busy || work.Agent != "fake" || work.Waiting != 1 || work.Handle != rows[0].Handle && work.Handle != rows[1].Handle {
		t.Errorf("at work is %+v of %+v", work, rows)
	}
	until(t, "the first reply", func() bool { return len(w.replies()) == 1 })
	w.touch("go")
	replies := w.answered(3)
	if r := replies[0]; r.Text != stoppedByOwner || r.Kind != "failure" || r.InReplyTo != "m1" {
		t.Errorf("the answer to what was stopped: %+v", r)
	}
	for _, r := range replies[1:] {
		if r.Kind != "reply" || r.Text != map[string]string{"m2": "two", "m3": "three"}[r.InReplyTo] {
			t.Errorf("another answer: %+v", r)
		}
	}
	if work := w.sayStop("a"); work.Busy {
		t.Errorf("afterwards at work is %+v", work)
	}
}

// A live agent goes with its whole tree, too; what was said before, its next process knows.
func TestStopOfALiveAgent(t *testing.T) {
	w := newWorld(t)
	w.stays(
		[]testexe.ACPStep{{Do: &testexe.Step{WritePID: w.file("began")}}, {Do: &testexe.Step{SleepMillis: forever}}},
	)
	w.run()
	w.claim("c", "one")
	until(t, "the turn", func() bool { return exists(w.file("began")) })
	w.sayStop("c")
	if text := w.says("failure"); text != stoppedByOwner {
		t.Errorf("says %q", text)
	}
	w.stays([]testexe.ACPStep{{Recall: true}})
	w.claim("c", "two")
	if r := w.spoken(2)[1]; r.Text != "one|two" {
		t.Errorf("%+v", r)
	}
}

// What has not begun never does, whether the mark comes before the turn is prepared or while it is.
func TestStopBeforeTheTurn(t *testing.T) {
	w := newWorld(t, testexe.Step{Echo: true})
	row := w.claim("c", "one")
	if work := w.sayStop("c"); work.Stopped || work.Handle != "" {
		t.Errorf("at work is %+v", work)
	}
	if work := w.sayStop("c"); !work.Stopped {
		t.Errorf("for the second time it is %+v", work)
	}
	if _, err := w.engine.mark(t.Context(), row, "fake-000001", "fake", w.home); !errors.Is(err, errNotWanted) {
		t.Errorf("a turn that was prepared meanwhile begins: %v", err)
	}
	if c := w.claims()[0]; !c.Stop || c.Handle != "" {
		t.Errorf("the mark is gone: %+v", c)
	}
	w.claim("c", "two")
	w.run()
	replies := w.answered(2)
	if replies[0].Text != notWanted().text || replies[0].Kind != "failure" || replies[1].Text != "two" {
		t.Errorf("replies %+v", replies)
	}
}

// A crash between the answer to /stop and the stop: the run of before goes as every lost one does, and its
// message hears that it was stopped.
func TestStopOverACrash(t *testing.T) {
	w := newWorld(t)
	w.agents = scripted(map[string]testexe.Script{"fake": {{WritePID: w.file("ran")}}})
	w.earlier("fake-000001", store.Delegation{State: store.RunLive, Leader: store.ProcessID{PID: 4 << 20, Start: 1, Boot: "gone"}}, "half")
	w.claim("c", "hello", begun("fake-000001"))
	if work := w.sayStop("c"); work.Agent != "fake" || work.Handle != "fake-000001" {
		t.Errorf("at work is %+v", work)
	}
	for range 2 {
		w.open()
		w.run()
		until(t, "the claim to be settled", func() bool { return len(w.claims()) == 0 })
	}
	w.stop()
	if r := w.replies(); len(r) != 1 || r[0].Text != "The agent was stopped because you asked for it with /stop." {
		t.Errorf("replies %+v", r)
	}
	if exists(w.file("ran")) {
		t.Error("it was run again")
	}
}

// /new takes its turn: what came before it is answered in the old session, what comes after in a new one. Done
// twice, as after a crash, it does no more.
func TestNew(t *testing.T) {
	w := newWorld(t)
	w.program("claude", "--resume", answers)
	for _, text := range []string{"one", "two"} {
		w.claim("c", text)
	}
	w.claim("c", "/new", sayNew)
	w.claim("c", "three")
	w.claim("d", "/new", sayNew) // a conversation that nobody has begun
	w.run()
	replies := w.answered(5)
	if got := w.sessions(); got != "new resumed new" {
		t.Errorf("sessions: %s", got)
	}
	for _, r := range replies {
		if r.InReplyTo == "m3" && (r.Text != chatcommand.Renewed || r.Kind != "notice") {
			t.Errorf("answers %+v", r)
		}
	}
	w.view(func(v *store.View) {
		if _, known := v.Conversation(account, "d"); known {
			t.Error("a conversation is remembered of which nothing was said")
		}
	})
	w.claim("c", "/new", sayNew)
	w.claim("c", "/new", sayNew)
	w.answered(7)
	if c := w.conversation("c"); c.Session != "" || c.Turns != 3 {
		t.Errorf("conversation %+v", c)
	}
}

// A live agent leaves for /new, and the next turn has another that knows nothing.
func TestNewWithALiveAgent(t *testing.T) {
	w := newWorld(t)
	w.stays([]testexe.ACPStep{{Recall: true}})
	w.run()
	w.claim("c", "one")
	w.spoken(1)
	first := w.live(1)[0].Handle
	w.claim("c", "/new", sayNew)
	w.answered(2) // no record is left
	w.claim("c", "two")
	if r := w.spoken(3)[2]; r.Text != "two" {
		t.Errorf("%+v", r)
	}
	if next := w.live(1)[0].Handle; next == first {
		t.Error("the same agent stays")
	}
}
