package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"scv/store"
	"scv/wire"
	"scv/wire/bus"
)

const crashConfig = `
[agents.echo]
command = ["sh", "-c", "read -r line; [ -n \"$line\" ] || exit 1; echo \"$line\" >> executed; sleep 0.0$((${#line} % 9)); echo \"answer to $line\""]
prompt = "stdin"

[notify]
owner = ["local:default"]
`

const (
	// lives is how often a home is killed. Then it is held to all of it and a new one takes its place: a
	// start looks through the whole store, so the rounds of a home that only grows become slow.
	lives      = 125
	sideBySide = 4 // homes at once: while one waits for the disk or an agent, another has the processor
)

// TestCrashes kills the daemon with SIGKILL at random moments while clients change settings, write
// messages, ask and answer questions, and after each new start holds what it says against what was
// acknowledged. SCV_CRASH_ROUNDS sets how often; SCV_CRASH_SEED is the seed of the first home, the
// homes after it have the numbers after it.
func TestCrashes(t *testing.T) {
	rounds := number(t, "SCV_CRASH_ROUNDS", 500)
	seed := number(t, "SCV_CRASH_SEED", int(time.Now().UnixNano()%1e9))
	if testing.Short() {
		rounds = 10
	}
	t.Logf("rounds %d, seed %d (SCV_CRASH_SEED=%d SCV_CRASH_ROUNDS=%d repeats it)", rounds, seed, seed, rounds)
	program := builtWith(t, "")
	var total crashTally
	var workers sync.WaitGroup
	var begun atomic.Int64
	for range sideBySide {
		workers.Go(func() {
			for {
				home := int(begun.Add(1)) - 1
				left := rounds - home*lives
				if left <= 0 {
					return
				}
				t.Run(fmt.Sprintf("seed=%d", seed+home), func(t *testing.T) {
					total.add(crashHome(t, program, seed+home, min(left, lives)))
				})
			}
		})
	}
	workers.Wait()
	t.Log(total.String())
	if rounds >= sideBySide*lives && len(total.actions) != 9 && !t.Failed() { // in fewer one may be missing by chance
		t.Errorf("not every action was among them: %v", total.actions)
	}
}

// crashHome is one home, killed so many times. Its seed decides what the clients do and when the kills
// come; how far the daemon is by then is up to the machine. go test -artifacts keeps the home and its log.
func crashHome(t *testing.T, program string, seed, rounds int) *model {
	home, round := homeIn(t, t.ArtifactDir()), 0
	m := newModel(home)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("failed in round %d of %d; to repeat this home: SCV_CRASH_SEED=%d SCV_CRASH_ROUNDS=%d go test -run TestCrashes ./cmd/scv",
				round, rounds, seed, min(round+1, rounds))
		}
	})
	random := rand.New(rand.NewPCG(uint64(seed), 0))
	for ; round < rounds; round++ {
		when := anyMoment(random)
		d := spawnDaemon(t, home, program, nil)
		if when.starting {
			when.await(m)
			d.kill()
			continue
		}
		d.hold(t, d.verify(t, m, round%25 == 0))
		d.disturb(t, m, uint64(seed), round, when, expectedEnd)
		if t.Failed() {
			return m
		}
	}
	m.conclude(t, spawnDaemon(t, home, program, nil))
	return m
}

// hold ends the test if there are complaints.
func (d *daemonProcess) hold(t *testing.T, found complaints) {
	t.Helper()
	if len(found.list) > 0 {
		t.Fatalf("%s\n%s", strings.Join(found.list, "\n"), d.log())
	}
}

// conclude is the end of every harness: all is answered once, nothing runs, the store is sound.
func (m *model) conclude(t *testing.T, d *daemonProcess) {
	t.Helper()
	d.hold(t, d.verify(t, m, true))
	d.hold(t, m.awaitAnswers(t, d))
	awaitNoCgroup(t, m.home)
	d.stop(t)
	if err := store.Check(t.Context(), filepath.Join(m.home, "scv.db")); err != nil {
		t.Errorf("the store is damaged: %v", err)
	}
	awaitNobody(t, m.home)
}

func number(t *testing.T, name string, otherwise int) int {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// daemonProcess is a real scv run.
type daemonProcess struct {
	cmd    *exec.Cmd
	home   string
	stderr *os.File
	ended  chan struct{} // closed when the process was waited for
	err    error         // of that wait
}

// startDaemon starts scv run and waits until it answers.
func startDaemon(t *testing.T, home string, flags ...string) *daemonProcess {
	t.Helper()
	d := spawnDaemon(t, home, "scv", nil, flags...)
	if err := d.ready(t); err != nil {
		t.Fatalf("the daemon does not answer: %v\n%s", err, d.log())
	}
	return d
}

// spawnDaemon starts program as a daemon; it may end at once.
func spawnDaemon(t *testing.T, home, program string, env []string, flags ...string) *daemonProcess {
	t.Helper()
	log, err := os.OpenFile(filepath.Join(filepath.Dir(home), "log"), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	d := spawnTo(t, log, home, program, env, flags...)
	d.stderr = log
	return d
}

// spawnTo starts program as a daemon whose log goes to stderr.
func spawnTo(t *testing.T, stderr *os.File, home, program string, env []string, flags ...string) *daemonProcess {
	t.Helper()
	d := &daemonProcess{cmd: exec.Command(program, append([]string{"run"}, flags...)...), home: home, ended: make(chan struct{})}
	d.cmd.Env = append(append(os.Environ(), "SCV_HOME="+home), env...)
	d.cmd.Stderr = stderr
	if err := startTied(d.cmd); err != nil {
		t.Fatal(err)
	}
	go func() {
		d.err = d.cmd.Wait()
		close(d.ended)
	}()
	t.Cleanup(d.kill)
	return d
}

var errEnded = errors.New("it has ended")

// ready waits until the daemon answers, or says why it never will.
func (d *daemonProcess) ready(t *testing.T) error {
	c, err := d.served(t)
	if err == nil {
		c.Close()
	}
	return err
}

// served is the connection over which the daemon answered first.
func (d *daemonProcess) served(t *testing.T) (*bus.Client, error) {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		c, err := d.answers(t.Context())
		if err == nil {
			return c, nil
		}
		select {
		case <-d.ended:
			return nil, errEnded
		default:
		}
		if time.Now().After(deadline) {
			return nil, err
		}
	}
}

func (d *daemonProcess) answers(ctx context.Context) (*bus.Client, error) {
	c, err := d.connect(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if _, err = c.Control(ctx, wire.StatusCommand{}); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (d *daemonProcess) connect(ctx context.Context) (*bus.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return bus.Connect(ctx, bus.SocketDialer(bus.SocketPath(d.home, instanceID(d.home))))
}

func (d *daemonProcess) log() string {
	if d.stderr == nil {
		return "(its log went elsewhere)"
	}
	b, err := io.ReadAll(io.NewSectionReader(d.stderr, 0, 1<<20))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(string(b), "\n")
	return strings.Join(lines[max(0, len(lines)-40):], "\n")
}

func (d *daemonProcess) kill() {
	_ = d.cmd.Process.Kill()
	<-d.ended
}

// terminate is an orderly stop that takes 8 s at most.
func (d *daemonProcess) terminate(t *testing.T) {
	t.Helper()
	begin := time.Now()
	d.stop(t)
	if took := time.Since(begin); took > 8*time.Second {
		t.Errorf("stopping took %s", took)
	}
}

// stop is an orderly stop, whose exit code is 0.
func (d *daemonProcess) stop(t *testing.T) {
	t.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if <-d.ended; d.err != nil {
		t.Fatalf("stopping: %v\n%s", d.err, d.log())
	}
}

// moment is when the daemon is killed: so many replies from now, 2 s at most, and then a while later.
type moment struct {
	starting bool // counted from the start of the process, and no client waits until it serves
	replies  int
	after    time.Duration
}

// anyMoment is in half of all cases right after a reply, else at a random time: under load, or while
// the daemon makes good what the kill before has left.
func anyMoment(r *rand.Rand) moment {
	random := func(most time.Duration) time.Duration { return time.Duration(r.Int64N(int64(most))) }
	switch kind := r.IntN(10); {
	case kind < 2:
		return moment{starting: true, after: random(150 * time.Millisecond)}
	case kind < 7:
		return moment{replies: 1 + r.IntN(15)}
	default:
		return moment{after: random(80 * time.Millisecond)}
	}
}

// await waits for the moment.
func (w moment) await(m *model) {
	select {
	case <-m.replied(w.replies):
	case <-time.After(2 * time.Second):
	}
	time.Sleep(w.after)
}

// disturb lets clients loose and kills the daemon at the moment.
func (d *daemonProcess) disturb(t *testing.T, m *model, seed uint64, round int, when moment, expected func(context.Context, error) bool) {
	t.Helper()
	stop := d.letLoose(t, m, seed, round, expected)
	when.await(m)
	d.kill()
	stop()
}

// letLoose starts four clients, which act until their daemon is gone or stop is called: where it goes over to
// another release they go along. An error that is not expected fails the test.
func (d *daemonProcess) letLoose(t *testing.T, m *model, seed uint64, round int, expected func(context.Context, error) bool) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	for w := range 4 {
		random := rand.New(rand.NewPCG(seed, uint64(round*100+w+1)))
		workers.Go(func() {
			for ctx.Err() == nil && !d.over() {
				if err := d.actFor(ctx, m, w, random, expected); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			}
		})
	}
	return func() { cancel(); workers.Wait() }
}

// actFor is one client, until its connection ends.
func (d *daemonProcess) actFor(ctx context.Context, m *model, worker int, random *rand.Rand, expected func(context.Context, error) bool) (err error) {
	client, err := d.connect(ctx)
	if err != nil {
		time.Sleep(5 * time.Millisecond) // it starts, or is just going
		if expected(ctx, err) {
			return nil
		}
		return err
	}
	defer client.Close()
	for ctx.Err() == nil {
		if e := m.act(ctx, client, worker, random); e != nil && !expected(ctx, e) {
			err = errors.Join(err, e)
		}
		select {
		case <-client.Closed():
			return err
		default:
		}
	}
	return err
}

func (d *daemonProcess) over() bool {
	select {
	case <-d.ended:
		return true
	default:
		return false
	}
}

// expectedEnd tells the loss of the daemon from a fault.
func expectedEnd(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, bus.ErrLost) || errors.Is(err, bus.ErrNoDaemon) ||
		errors.Is(err, bus.ErrStarting) || errors.Is(err, context.Canceled)
}

// awaitNobody waits until no process of this home is left: what runs left behind goes within 10 s of
// the start that found it.
func awaitNobody(t *testing.T, home string) {
	t.Helper()
	tag := []byte("SCV_HOME=" + home + "\x00")
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		var left []string
		paths, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, path := range paths {
			if env, err := os.ReadFile(path); err == nil && strings.Contains(string(env), string(tag)) {
				left = append(left, path)
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("processes are left: %s", fmt.Sprint(left))
		}
	}
}
