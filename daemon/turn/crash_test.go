package turn

import (
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"scv/daemon/agent"
	"scv/internal/clock"
	"scv/internal/testexe"
	"scv/store"
)

// earlier puts the record of a run that an earlier daemon began into the store, and what it printed.
func (w *world) earlier(handle string, d store.Delegation, out string) {
	w.t.Helper()
	d.Agent, d.Session, d.Account, d.Conversation = "fake", "chat-1", account, "c"
	d.Started, d.Depth = w.clk.Now(), 1
	if d.Owner = (store.ProcessID{PID: 4 << 20, Start: 1, Boot: "gone"}); d.Leader.Boot != "" {
		d.Owner.Boot = d.Leader.Boot
	}
	must(w.t, w.store.Observe(w.t.Context(), func(tx *store.Observation) error { return tx.PutDelegation(handle, d) }))
	must(w.t, os.MkdirAll(w.file("runs/"+handle), 0o700))
	must(w.t, os.WriteFile(w.file("runs/"+handle+"/out"), []byte(out), 0o600))
}

func begun(handle string) func(*store.Claim) { return func(c *store.Claim) { c.Handle = handle } }

// A crash or a reboot after a turn was marked: it is explained once, over two restarts, and never run again.
func TestInterrupted(t *testing.T) {
	boot := clock.System{}.Now().BootID
	live := func(boot string) *store.Delegation {
		return &store.Delegation{State: store.RunLive, Leader: store.ProcessID{PID: 4 << 20, Start: 1, Boot: boot}}
	}
	const crash, reboot = "SCV was stopped", "The machine was restarted"
	for name, test := range map[string]struct {
		record *store.Delegation
		why    string
	}{
		"not on record":            {nil, crash},
		"starting before a reboot": {&store.Delegation{State: store.RunStarting}, reboot},
		"live before a reboot":     {live("gone"), reboot},
		"live before a crash":      {live(boot), crash},
	} {
		record := test.record
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.agents = scripted(map[string]testexe.Script{"fake": {{WritePID: w.file("ran")}}})
			if record != nil {
				w.earlier("fake-000001", *record, "half of an ans")
			}
			w.claim("c", "hello", begun("fake-000001"))
			for range 2 {
				w.open()
				w.run()
				until(t, "the claim to be settled", func() bool { return len(w.claims()) == 0 })
			}
			w.stop()
			replies := w.replies()
			if len(replies) != 1 || !strings.HasPrefix(replies[0].Text, test.why+" while the agent was at work. Your message «hello» was being answered") || replies[0].Kind != "failure" || replies[0].InReplyTo != "m1" {
				t.Errorf("replies %+v", replies)
			}
			if exists(w.file("ran")) {
				t.Error("it was run again")
			}
		})
	}
}

// Which of several messages was cut is told by how it begins, on one line.
func TestInterruptedIsQuoted(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "",
		"\n ":                          "",
		"two\n\tlines":                 " «two lines»",
		strings.Repeat("好", maxQuoted): " «" + strings.Repeat("好", maxQuoted) + "»",
		strings.Repeat("é", 3000):      " «" + strings.Repeat("é", maxQuoted) + "…»",
		"\x1b[31mred":                  " «red»",
	} {
		if got := quoted(text); got != want {
			t.Errorf("%.20q: %q, want %q", text, got, want)
		}
	}
}

// A crash after a run had ended and before its reply was stored: the reply comes, once.
func TestEndedBeforeTheCrash(t *testing.T) {
	for name, test := range map[string]struct {
		d    store.Delegation
		says string
	}{
		"answered": {store.Delegation{State: store.RunEnded}, "the answer"},
		"failed":   {store.Delegation{State: store.RunEnded, ExitCode: 1}, "exit code 1"},
		"stopped":  {store.Delegation{State: store.RunEnded, ExitCode: -1, Stopped: "on request"}, "was stopped on request."},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.earlier("fake-000001", test.d, "the answer\n")
			w.claim("c", "hello", begun("fake-000001"))
			w.run()
			if text := w.answered(1)[0].Text; !strings.Contains(text, test.says) {
				t.Errorf("says %q", text)
			}
			until(t, "its output to be removed", func() bool { return !exists(w.file("runs/fake-000001")) })
		})
	}
}

// What a run of an earlier daemon printed is a pipe by now: that is said, and the conversation goes on.
func TestEndedAndItsOutputIsAPipe(t *testing.T) {
	w := newWorld(t, testexe.Step{Echo: true})
	w.earlier("fake-000001", store.Delegation{State: store.RunEnded}, "")
	must(t, os.Remove(w.file("runs/fake-000001/out")))
	must(t, unix.Mkfifo(w.file("runs/fake-000001/out"), 0o600))
	w.claim("c", "hello", begun("fake-000001"))
	w.claim("c", "next")
	w.run()
	replies := w.answered(2)
	if !strings.Contains(replies[0].Text, "could not be read") || replies[0].Kind != "failure" || replies[1].Text != "next" {
		t.Errorf("replies %+v", replies)
	}
}

func TestEndedAndItsAgentIsGone(t *testing.T) {
	w := newWorld(t)
	w.agents = agent.FromConfig(nil, nil)
	w.earlier("fake-000001", store.Delegation{State: store.RunEnded}, "the answer\n")
	w.claim("c", "hello", begun("fake-000001"))
	w.run()
	if text := w.says("failure"); !strings.Contains(text, "no longer configured") {
		t.Errorf("says %q", text)
	}
}

// The daemon stops in the middle of a turn: no process, no record, and a claim that the next start
// explains.
func TestStoppedInATurn(t *testing.T) {
	w := newWorld(t, testexe.Step{Spawn: &testexe.Spawn{Setsid: true, Script: testexe.Script{{SleepMillis: forever}}}}, testexe.Step{SleepMillis: forever})
	w.run()
	w.claim("c", "hello")
	w.claim("c", "not begun")
	w.live(1)
	w.stop()
	if err := leftovers(); err != nil {
		t.Error(err)
	}
	claims := w.claims()
	if len(claims) != 2 || claims[0].Claim.Handle == "" || claims[1].Claim.Handle != "" || len(w.records()) != 0 || len(w.replies()) != 0 {
		t.Fatalf("claims %+v, records %+v, replies %+v", claims, w.records(), w.replies())
	}
	w.agents = scripted(map[string]testexe.Script{"fake": {{Echo: true}}})
	w.open()
	w.run()
	replies := w.answered(2)
	if !strings.Contains(replies[0].Text, "while the agent was at work. Your message «hello» was being answered") || replies[1].Text != "not begun" {
		t.Errorf("replies %+v", replies)
	}
}

// The daemon stops just when a run has ended by itself: what it answered is not thrown away.
func TestStoppedJustAfterTheEnd(t *testing.T) {
	w := newWorld(t, testexe.Step{Echo: true})
	a, _ := w.agents.Get("fake")
	about, err := w.runs.Place(store.Delegation{Agent: "fake", Session: "chat-1"}, "")
	must(t, err)
	run, err := a.Prepare(agent.Task{
		Prompt: "hello", Tools: true, Owner: true, Workspace: w.home, Env: w.runs.Environment("fake-000001", about),
	})
	must(t, err)
	r, err := w.runs.Start(t.Context(), "fake-000001", about, run)
	must(t, err)
	<-r.Done()
	w.claim("c", "hello", begun("fake-000001"))
	w.engine.cut(r)
	w.open()
	w.run()
	if text := w.says("reply"); text != "hello" {
		t.Errorf("says %q", text)
	}
}

// full makes every write to a file fail, until mended.
func full(t *testing.T) (mend func()) {
	t.Helper()
	// go test notes what a test looks at, in a file behind a buffer of 4 KiB. This empties the buffer, which
	// would otherwise run full, some day, just while no file takes anything.
	os.Getenv(strings.Repeat("x", 8<<10))
	var old unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &old))
	none := old
	none.Cur = 0
	must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &none))
	return func() { must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &old)) }
}

// The disk refuses the reply for a while: it is stored when the disk takes it, and the turn is not run
// again.
func TestStoreRefusesTheReply(t *testing.T) {
	w := newWorld(t)
	w.agents = scripted(map[string]testexe.Script{"fake": {{WaitFile: w.file("go")}, {Echo: true}}})
	var readings atomic.Int32
	w.engine.o.Clock = hooked{w.clk, func() { readings.Add(1) }}
	w.run()
	w.claim("c", "hello")
	w.live(1)
	mend := full(t)
	w.touch("go")
	until(t, "a second refusal", func() bool { return readings.Load() >= 5 }) // one to begin, two for each
	if n := w.logs.count("cannot store a reply"); n != 1 {
		t.Errorf("logged %d times", n)
	}
	mend()
	if text := w.says("reply"); text != "hello" {
		t.Errorf("says %q", text)
	}
}

// hooked is a clock that lets a test act inside a transaction that reads it.
type hooked struct {
	clock.Clock
	read func()
}

func (h hooked) Now() clock.Stamp {
	h.read()
	return h.Clock.Now()
}

// As above, and the daemon is stopped before the disk is well: the next start has the answer.
func TestStoppedBeforeTheReplyIsStored(t *testing.T) {
	w := newWorld(t, testexe.Step{Echo: true})
	readings, mend := 0, func() {}
	w.engine.o.Clock = hooked{w.clk, func() {
		if readings++; readings == 2 { // the first is of the turn's beginning, the second of its reply
			mend = full(t)
		}
	}}
	w.run()
	w.claim("c", "hello")
	until(t, "the refusal", func() bool { return w.logs.has("cannot store a reply") })
	w.stop()
	mend()
	if len(w.claims()) != 1 || len(w.replies()) != 0 {
		t.Fatalf("claims %+v, replies %+v", w.claims(), w.replies())
	}
	w.agents = scripted(map[string]testexe.Script{"fake": {{Print: "run again"}}})
	w.open()
	w.run()
	if text := w.says("reply"); text != "hello" {
		t.Errorf("says %q", text)
	}
}

// The disk is full before a turn begins: it waits, and is then run once.
func TestStoreRefusesTheBeginning(t *testing.T) {
	w := newWorld(t, testexe.Step{Echo: true})
	w.claim("c", "hello")
	mend := full(t)
	w.run()
	until(t, "the refusal", func() bool { return w.logs.has("cannot begin a turn") })
	mend()
	if text := w.says("reply"); text != "hello" {
		t.Errorf("says %q", text)
	}
}

func TestFaultsAreLoggedOnceAMinute(t *testing.T) {
	w := newWorld(t)
	for range 3 {
		for range 30 {
			w.engine.fault("cannot store a reply", "local:one", os.ErrInvalid)
			w.clk.Suspend(time.Second)
		}
		w.engine.fault("cannot store a reply", "local:two", os.ErrInvalid)
	}
	if one, two := w.logs.count("account=local:one"), w.logs.count("account=local:two"); one != 2 || two != 2 {
		t.Errorf("logged %d and %d times in 90 s", one, two)
	}
}
