package live

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"scv/daemon/agent"
	"scv/daemon/delegation"
	"scv/daemon/process"
	"scv/daemon/process/processtest"
	"scv/internal/clock"
	"scv/internal/testexe"
	"scv/store"
	"scv/store/storetest"
	"scv/wire"
)

var table = process.NewTable()

// TestMain makes the test a subreaper, as the daemon is one, and fails when a test leaves a process or a
// goroutine behind.
func TestMain(m *testing.M) {
	processtest.Begin()
	processtest.Main(m, leftovers)
}

func leftovers() error { return processtest.Leftovers(table) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const (
	account = "local:default"
	limit   = 20 * time.Second
	forever = 60_000 // milliseconds
)

var until = processtest.Until

// buffer is a log that a test can read meanwhile.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// world is a pool over a store and real processes.
type world struct {
	t     *testing.T
	home  string
	inst  string
	clk   *clock.Virtual
	logs  *buffer
	store *store.Store
	runs  *delegation.Keeper
	pool  *Pool
	stop  func() // the pool, as a daemon that stops
	agent agent.Live
	named string // what the agent calls the conversation, as stored
	turns uint32
}

func newWorld(t *testing.T, a testexe.ACP) *world {
	return newWorldOf(t, testexe.Script{{ACP: &a}})
}

func newWorldOf(t *testing.T, script testexe.Script) *world {
	w := &world{t: t, home: t.TempDir(), inst: rand.Text(), clk: clock.NewVirtual(), logs: &buffer{}}
	w.store = storetest.OpenAt(t, filepath.Join(w.home, "scv.db"), w.clk)
	w.agent = scripted(script)
	w.set(store.Account{Enabled: true, RemoteTools: wire.ToolsOwner, Senders: wire.SendersOwner, OwnerID: "owner"})
	w.open()
	return w
}

func scripted(script testexe.Script) agent.Live {
	path, args := testexe.Command(script)
	return agent.NewACP("fake", agent.Command{Command: append([]string{path}, args...)}, os.Environ())
}

// nested is a fake agent that passes for another SCV.
func nested(script testexe.Script) agent.Live {
	path, args := testexe.Command(script)
	command := agent.Command{Driver: "scv", Command: append([]string{path}, args...), Home: os.TempDir()}
	a, _ := agent.FromConfig(map[string]agent.Command{"fake": command}, os.Environ()).Get("fake")
	return a.(agent.Live)
}

// open makes a keeper and a pool that know of nothing before, as a daemon that starts.
func (w *world) open() {
	w.t.Helper()
	self, err := process.Self()
	must(w.t, err)
	log := slog.New(slog.NewTextHandler(w.logs, nil))
	w.runs = delegation.New(delegation.Options{
		Store: w.store, Clock: w.clk, Log: log, Procs: table, Self: self, Instance: w.inst, Home: w.home, MaxDepth: 2,
	})
	w.pool = New(Options{Store: w.store, Clock: w.clk, Log: log, Runs: w.runs, IdleClose: 30 * time.Minute})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.pool.Run(ctx) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Error(err)
		}
	})
	w.t.Cleanup(w.stop)
}

func (w *world) set(a store.Account) {
	w.t.Helper()
	must(w.t, w.store.Intend(context.Background(), func(tx *store.Intent) error { return tx.PutAccount(account, a) }))
}

// ask is the next turn of a conversation.
func (w *world) ask(prompt string) Ask {
	w.turns++
	turn := w.turns
	about, err := w.runs.Place(store.Delegation{
		Agent: "fake", Session: "chat-1", Account: account, Conversation: "c", MessageID: fmt.Sprint("m", turn),
	}, "")
	must(w.t, err)
	return Ask{
		Key: Key{account, "c"}, Agent: w.agent, Handle: fmt.Sprintf("fake-%06x", turn), About: about, Limit: limit,
		Task:  agent.Task{Prompt: prompt, Tools: true, Owner: true, Workspace: w.home, Session: w.named},
		Begin: func(context.Context, string) (uint32, error) { return turn, nil },
		Named: func(_ context.Context, session string) { w.named = session },
	}
}

// turn takes a turn as the engine does, and closes the record of a run that ended with it.
func (w *world) turn(ask Ask) Outcome {
	w.t.Helper()
	o, err := w.pool.Turn(w.t.Context(), ask)
	must(w.t, err)
	if o.Ended {
		must(w.t, w.runs.Reported(context.Background(), o.Handle))
	}
	return o
}

// says takes a turn that must end in a reply.
func (w *world) says(prompt, want string) Outcome {
	w.t.Helper()
	o := w.turn(w.ask(prompt))
	if o.Err != nil || o.Stopped != "" || o.Reply.Text != want {
		w.t.Fatalf("%q: says %q, stopped %q, %v; want %q\n%s", prompt, o.Reply.Text, o.Stopped, o.Err, want, w.logs)
	}
	return o
}

// record is the only record of a run.
func (w *world) record() store.DelegationRow {
	w.t.Helper()
	rows := w.records()
	if len(rows) != 1 {
		w.t.Fatalf("records %+v", rows)
	}
	return rows[0]
}

func (w *world) records() (rows []store.DelegationRow) {
	w.t.Helper()
	must(w.t, w.store.View(func(v *store.View) error {
		rows = v.Delegations()
		return nil
	}))
	return rows
}

// empty waits until nothing is on record and nothing runs.
func (w *world) empty() {
	w.t.Helper()
	until(w.t, "all to be gone", func() bool { return len(w.records()) == 0 })
	if err := leftovers(); err != nil {
		w.t.Error(err)
	}
}

func (w *world) file(name string) string { return filepath.Join(w.home, name) }
