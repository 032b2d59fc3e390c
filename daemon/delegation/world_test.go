package delegation

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"scv/daemon/agent"
	"scv/daemon/process"
	"scv/internal/clock"
	"scv/internal/testexe"
	"scv/store"
	"scv/store/storetest"
	"scv/wire"
)

const account = "local:default"

// world is a keeper over a home, and what a test needs to look at both.
type world struct {
	t        *testing.T
	home     string
	instance string // of its own: another test run on this machine must not find our tags, nor we its
	clk      *clock.Virtual
	store    *store.Store
	k        *Keeper

	step func(string) // set by a test
}

// instances are those of all worlds so far.
var instances []string

func newWorld(t *testing.T) *world {
	w := &world{t: t, home: t.TempDir(), instance: rand.Text(), clk: clock.NewVirtual(), step: func(string) {}}
	instances = append(instances, w.instance)
	w.open()
	return w
}

func storeIn(home string) string { return filepath.Join(home, "scv.db") }

func options(home, instance string, s *store.Store, clk clock.Clock, self process.ID) Options {
	return Options{
		Store: s, Clock: clk, Log: slog.New(slog.DiscardHandler), Procs: table, Cgroups: cgroups, Self: self,
		Instance: instance, Home: home, MaxDepth: 2,
	}
}

// open opens the store, afresh where it was open, and makes a keeper that knows nothing.
func (w *world) open(change ...func(*Options)) {
	w.t.Helper()
	if w.store != nil {
		must(w.t, w.store.Close())
	}
	w.store = storetest.OpenAt(w.t, storeIn(w.home), w.clk)
	self, err := process.Self()
	must(w.t, err)
	o := options(w.home, w.instance, w.store, w.clk, self)
	o.step = func(name string) { w.step(name) }
	for _, f := range change {
		f(&o)
	}
	w.k = New(o)
}

// agentRun is a fake agent with the environment of a run.
func agentRun(k *Keeper, handle, home string, script testexe.Script) agent.Run {
	path, args := testexe.Command(script)
	run := agent.Run{Path: path, Args: args, Dir: home, Stdin: "task\n"}
	for name, value := range k.Environment(handle, placed(k)) {
		run.Env = append(run.Env, name+"="+value)
	}
	return run
}

var about = store.Delegation{Agent: "fake", Session: "chat-1", Account: account, Conversation: "c", Turn: 1}

// placed is about for a run that the daemon starts for a chat.
func placed(k *Keeper) store.Delegation {
	d, _ := k.Place(about, "") // Start refuses what is too deep again
	return d
}

func (w *world) start(handle string, script ...testexe.Step) *Run {
	w.t.Helper()
	r, err := w.k.Start(within(w.t), handle, placed(w.k), agentRun(w.k, handle, w.home, script))
	must(w.t, err)
	w.t.Cleanup(func() {
		if err := r.Stop(context.Background(), "by the end of the test"); err != nil {
			w.t.Error(err)
		}
	})
	return r
}

func (w *world) file(name string) string { return filepath.Join(w.home, name) }

func (w *world) record(handle string) (store.Delegation, bool) {
	w.t.Helper()
	d, known, err := w.k.Record(handle)
	must(w.t, err)
	return d, known
}

func (w *world) put(handle string, d store.Delegation) {
	w.t.Helper()
	must(w.t, w.k.put(context.Background(), handle, d))
}

// pass is one look at what runs print and one pass with everything it began.
func (w *world) pass() {
	for _, r := range w.k.activity().own {
		r.bound()
	}
	w.k.Pass(context.Background())
	w.k.work.Wait()
}

// passes are enough for an orphan to be noticed, listed long enough and stopped.
func (w *world) passes() {
	w.pass()
	w.clk.Suspend(orphanGrace)
	w.pass()
	w.pass()
}

// tagged are the live processes of a run.
func (w *world) tagged(handle string) []process.Proc {
	w.t.Helper()
	view, err := table.Scan()
	must(w.t, err)
	return view.Tagged(w.instance, handle)
}

// claim makes a message that waits for the report of a run.
func (w *world) claim(handle string) (settle func()) {
	w.t.Helper()
	var seq uint64
	must(w.t, w.store.Deliver(context.Background(), func(tx *store.Delivery) (err error) {
		seq, err = tx.PutClaim(account, store.Claim{
			MessageID: "m1", Conversation: "c", Chat: "c", Sender: "c", Text: "x", Claimed: w.clk.Now(), Handle: handle,
		})
		return err
	}))
	return func() {
		must(w.t, w.store.Deliver(context.Background(), func(tx *store.Delivery) error { return tx.DeleteClaim(account, seq) }))
	}
}

func refusedAs(err error, code wire.Code) bool {
	var refusal *wire.Error
	return errors.As(err, &refusal) && refusal.Code == code
}

// ownerMode makes the test binary an SCV process that owns runs and is to be killed. Its value is the
// step at which it kills itself, "" for never.
const ownerMode = "SCV_DELEGATION_TEST_OWNER"

// beOwner starts a run for each handle. Each writes its pid into <home>/<handle>.
func beOwner(step, home, instance string, handles []string) error {
	ctx := context.Background()
	s, err := store.Open(ctx, store.Options{Path: storeIn(home), Clock: clock.System{}, Instance: instance})
	if err != nil {
		return err
	}
	self, err := process.Self()
	if err != nil {
		return err
	}
	o := options(home, instance, s, clock.System{}, self)
	o.step = func(name string) {
		if name == step {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	k := New(o)
	for _, handle := range handles {
		script := testexe.Script{
			{Spawn: &testexe.Spawn{Setsid: true, Script: testexe.Script{{SleepMillis: forever}}}},
			{WritePID: filepath.Join(home, handle)},
			{ReadAll: true},
			{Print: "the answer"},
		}
		if step == "" || step == "spawned" || step == "live" { // else the leader ends by itself
			script = append(script, testexe.Step{SleepMillis: forever})
		}
		r, err := k.Start(ctx, handle, placed(k), agentRun(k, handle, home, script))
		if err != nil {
			return err
		}
		if step != "" {
			<-r.Done()
		}
	}
	select {}
}

// owner runs beOwner to its death and returns when it is dead: at once by a kill where it has no step.
func (w *world) owner(step string, handles ...string) {
	w.t.Helper()
	must(w.t, w.store.Close())
	w.store = nil
	cmd := exec.Command(os.Args[0], append([]string{w.home, w.instance}, handles...)...)
	cmd.Env = append(os.Environ(), ownerMode+"="+step)
	cmd.Stderr = os.Stderr
	must(w.t, cmd.Start())
	if step == "" {
		for _, handle := range handles {
			pidIn(w.t, w.file(handle))
		}
		until(w.t, "the output of every run", func() bool {
			for _, handle := range handles {
				if out, _ := os.ReadFile(w.file("runs/" + handle + "/out")); string(out) != "the answer\n" {
					return false
				}
			}
			return true
		})
		must(w.t, cmd.Process.Kill())
	}
	killed := make(chan error, 1)
	go func() { killed <- cmd.Wait() }()
	select {
	case err := <-killed:
		if state := cmd.ProcessState.Sys().(syscall.WaitStatus); !state.Signaled() || state.Signal() != syscall.SIGKILL {
			w.t.Fatalf("the owner was not killed: %v", err)
		}
	case <-time.After(limit):
		_ = cmd.Process.Kill()
		w.t.Fatal(fmt.Errorf("the owner does not reach %q: %w", step, <-killed))
	}
	w.open()
}
