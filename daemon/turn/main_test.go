package turn

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"scv/daemon/agent"
	"scv/daemon/channel"
	"scv/daemon/delegation"
	"scv/daemon/live"
	"scv/daemon/media"
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
	forever = 60_000 // milliseconds; every fake program ends by itself well after a test
)

var until = processtest.Until

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// logs keeps what was logged, so that a test can wait for it.
type logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logs) has(text string) bool { return l.count(text) > 0 }

func (l *logs) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

// world is an engine over a store and real processes.
type world struct {
	t      *testing.T
	home   string
	inst   string // an instance of its own: another test run on this machine must not find our tags, nor we its
	clk    *clock.Virtual
	logs   *logs
	store  *store.Store
	runs   *delegation.Keeper
	pool   *live.Pool
	engine *Engine
	seq    int
	stop   func() // the engine; a no-op when it does not run

	// Set before run.
	agents *agent.Registry
	limits Limits
	found  []agent.Found
	folder error
	typist channel.Typist

	carrier *carrier    // nil: the platform carries no files
	away    atomic.Bool // it does not run now
}

// newWorld has one agent, which follows a script.
func newWorld(t *testing.T, script ...testexe.Step) *world {
	return newWorldIn(t, t.TempDir(), script...)
}

func newWorldIn(t *testing.T, home string, script ...testexe.Step) *world {
	w := &world{
		t: t, home: home, inst: rand.Text(), clk: clock.NewVirtual(), logs: &logs{}, stop: func() {},
		agents: scripted(map[string]testexe.Script{"fake": script}),
		limits: Limits{Owner: time.Minute, Others: time.Minute, Concurrent: 4},
	}
	w.open()
	w.set(owned())
	t.Cleanup(func() { w.stop() })
	return w
}

func owned() store.Account {
	return store.Account{Enabled: true, RemoteTools: wire.ToolsOwner, Senders: wire.SendersOwner, OwnerID: "owner"}
}

func scripted(scripts map[string]testexe.Script) *agent.Registry {
	commands := map[string]agent.Command{}
	for name, script := range scripts {
		path, args := testexe.Command(script)
		commands[name] = agent.Command{Command: append([]string{path}, args...)}
	}
	return agent.FromConfig(commands, os.Environ())
}

// open opens the store, afresh where it was open, and makes an engine; a second call is a restart.
func (w *world) open() {
	w.t.Helper()
	w.stop()
	w.stop = func() {}
	if w.store != nil {
		must(w.t, w.store.Close())
	}
	w.store = storetest.OpenAt(w.t, filepath.Join(w.home, "scv.db"), w.clk)
	self, err := process.Self()
	must(w.t, err)
	log := slog.New(slog.NewTextHandler(w.logs, nil))
	w.runs = delegation.New(delegation.Options{
		Store: w.store, Clock: w.clk, Log: log, Procs: table, Self: self, Instance: w.inst, Home: w.home, MaxDepth: 2,
		Condenser: func(name string) func(io.Reader) ([]byte, error) {
			a, known := w.agents.Get(name)
			if !known {
				return nil
			}
			return agent.Condenser(a)
		},
	})
	w.pool = live.New(live.Options{Store: w.store, Clock: w.clk, Log: log, Runs: w.runs, IdleClose: time.Hour})
	w.engine = New(Options{
		Store: w.store, Clock: w.clk, Log: log, Runs: w.runs, Live: w.pool,
		Agents: func() *agent.Registry { return w.agents }, Limits: func() Limits { return w.limits },
		Found:     func() []agent.Found { return w.found },
		Typist:    func(string) (channel.Typist, bool) { return w.typist, w.typist != nil },
		Workspace: func(store.Account) (string, error) { return w.home, w.folder }, Replied: func() {}, WhyCut: func(string) string { return "" },
		Reported: func(string, wire.DelegationOutcome) {},
		Media:    media.In(w.home),
		Carries:  func(string) bool { return w.carrier != nil },
		Carrier: func(string) (channel.Carrier, bool) {
			return w.carrier, w.carrier != nil && !w.away.Load()
		},
	})
}

func (w *world) run() {
	endPool := w.running(w.pool.Run)
	endTurns := w.running(w.engine.Run)
	w.stop = sync.OnceFunc(func() {
		endTurns()
		endPool()
	})
}

func (w *world) running(run func(context.Context) error) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Error(err)
		}
	}
}

func (w *world) set(a store.Account) {
	w.t.Helper()
	must(w.t, w.store.Intend(context.Background(), func(tx *store.Intent) error { return tx.PutAccount(account, a) }))
}

// claim puts a message of the owner in a conversation and returns its row.
func (w *world) claim(conversation, text string, change ...func(*store.Claim)) (row store.ClaimRow) {
	w.t.Helper()
	w.seq++
	c := store.Claim{
		MessageID: fmt.Sprint("m", w.seq), Conversation: conversation, Chat: "chat " + conversation, Sender: "owner", Owner: true,
		Text: text, ReplyHandle: "token", Claimed: w.clk.Now(),
	}
	for _, f := range change {
		f(&c)
	}
	must(w.t, w.store.Deliver(context.Background(), func(tx *store.Delivery) error {
		seq, err := tx.PutClaim(account, c)
		row = store.ClaimRow{Account: account, Seq: seq, Claim: c}
		return err
	}))
	w.engine.Wake()
	return row
}

func (w *world) view(fn func(v *store.View)) {
	w.t.Helper()
	must(w.t, w.store.View(func(v *store.View) error { fn(v); return nil }))
}

func (w *world) replies() (replies []store.Outbound) {
	w.view(func(v *store.View) {
		for _, row := range v.Outbox(account, 100) {
			replies = append(replies, row.Outbound)
		}
	})
	return replies
}

func (w *world) claims() (claims []store.ClaimRow) {
	w.view(func(v *store.View) { claims = v.AllClaims() })
	return claims
}

func (w *world) records() (rows []store.DelegationRow) {
	w.view(func(v *store.View) { rows = v.Delegations() })
	return rows
}

// live waits until so many runs have their leader on record, and gives them.
func (w *world) live(n int) (rows []store.DelegationRow) {
	w.t.Helper()
	until(w.t, fmt.Sprint(n, " live runs"), func() bool {
		rows = slices.DeleteFunc(w.records(), func(r store.DelegationRow) bool { return r.State != store.RunLive })
		return len(rows) == n
	})
	return rows
}

// answered waits for so many replies, and that the runs behind them are closed.
func (w *world) answered(n int) []store.Outbound {
	w.t.Helper()
	until(w.t, fmt.Sprint(n, " replies"), func() bool {
		return len(w.replies()) >= n && len(w.claims()) == 0 && len(w.records()) == 0
	})
	replies := w.replies()
	if len(replies) != n {
		w.t.Fatalf("replies %+v", replies)
	}
	return replies
}

// says is the text of the only reply, which must be of a kind.
func (w *world) says(kind string) string {
	w.t.Helper()
	replies := w.answered(1)
	if replies[0].Kind != kind {
		w.t.Errorf("a %s: %q", replies[0].Kind, replies[0].Text)
	}
	return replies[0].Text
}

func (w *world) file(name string) string { return filepath.Join(w.home, name) }

func (w *world) touch(name string) { must(w.t, os.WriteFile(w.file(name), nil, 0o600)) }
