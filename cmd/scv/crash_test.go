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

// TestCrashes kills the daemon with SIGKILL at random moments while clients change settings, write
// messages, ask and answer questions, and after each new start holds what it says against what was
// acknowledged. SCV_CRASH_ROUNDS sets how often, SCV_CRASH_SEED repeats a run.
func TestCrashes(t *testing.T) {
	rounds := number(t, "SCV_CRASH_ROUNDS", 100)
	seed := uint64(number(t, "SCV_CRASH_SEED", int(time.Now().UnixNano()%1e9)))
	if testing.Short() {
		rounds = 10
	}
	t.Logf("rounds %d, seed %d (SCV_CRASH_SEED=%d repeats it)", rounds, seed, seed)
	home := filepath.Join(t.TempDir(), "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(crashConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	m := newModel(home)
	moments := rand.New(rand.NewPCG(seed, 0))
	program := builtWith(t, "")
	for round := range rounds {
		d := spawnDaemon(t, home, program, nil)
		if err := d.ready(t); err != nil {
			t.Fatalf("round %d: %v\n%s", round, err, d.log())
		}
		d.hold(t, d.verify(t, m))
		d.disturb(t, m, seed, round, moment{acks: moments.IntN(25), after: time.Duration(moments.IntN(20)) * time.Millisecond}, expectedEnd)
	}
	m.conclude(t, startDaemon(t, home))
	t.Log(m.summary())
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
	d.hold(t, d.verify(t, m))
	d.hold(t, m.awaitAnswers(t, d))
	d.hold(t, m.executions(t))
	d.terminate(t)
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
	if err := d.cmd.Start(); err != nil {
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
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		err := d.answers(t.Context())
		if err == nil {
			return nil
		}
		select {
		case <-d.ended:
			return errEnded
		default:
		}
		if time.Now().After(deadline) {
			return err
		}
	}
}

func (d *daemonProcess) answers(ctx context.Context) error {
	client, err := d.connect(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err = client.Control(ctx, wire.StatusCommand{})
	return err
}

func (d *daemonProcess) connect(ctx context.Context) (*bus.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
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

// terminate is an orderly stop: at most 8 s, exit code 0.
func (d *daemonProcess) terminate(t *testing.T) {
	t.Helper()
	begin := time.Now()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if <-d.ended; d.err != nil {
		t.Fatalf("stopping: %v\n%s", d.err, d.log())
	}
	if took := time.Since(begin); took > 8*time.Second {
		t.Errorf("stopping took %s", took)
	}
}

// moment is when the daemon is killed: a while after so many acknowledgements, 2 s at most.
type moment struct {
	acks  int
	after time.Duration
}

// await waits for the moment.
func (w moment) await(m *model) {
	begin := m.acknowledged()
	for deadline := time.Now().Add(2 * time.Second); m.acknowledged()-begin < w.acks && time.Now().Before(deadline); {
		time.Sleep(200 * time.Microsecond)
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

// letLoose starts four clients, which act until their daemon is gone or stop is called. An error that
// is not expected fails the test.
func (d *daemonProcess) letLoose(t *testing.T, m *model, seed uint64, round int, expected func(context.Context, error) bool) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	for w := range 4 {
		random := rand.New(rand.NewPCG(seed, uint64(round*100+w+1)))
		workers.Go(func() {
			client, err := d.connect(ctx)
			if err != nil {
				if !expected(ctx, err) {
					t.Errorf("round %d: %v", round, err)
				}
				return
			}
			defer client.Close()
			for ctx.Err() == nil {
				err := m.act(ctx, client, w, random)
				if err != nil && !expected(ctx, err) {
					t.Errorf("round %d: %v", round, err)
				}
				select {
				case <-client.Closed():
					return
				default:
				}
			}
		})
	}
	return func() { cancel(); workers.Wait() }
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
	for deadline := time.Now().Add(15 * time.Second); ; time.Sleep(20 * time.Millisecond) {
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
