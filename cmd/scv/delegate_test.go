package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"scv/wire"
	"scv/wire/bus"
)

// hides starts a child in each way that shells have to hide one, and tells when all are there.
const hides = `
[agents.hides]
command = ["sh", "-c", "sleep 300 & setsid sleep 300 & env -i setsid sh -c 'sleep 300 & sleep 300' & (env -i setsid sleep 300 &) ; cat > told; echo here; sleep 300"]
[agents.answers]
command = ["sh", "-c", "read -r line; echo here; while ! [ -e go ]; do sleep 0.02; done; echo answer to $line"]
[agents.starter]
command = ["sh", "-c", "scv delegate --background hides 'from a chat'"]
`

// owner is a real scv delegate.
type owner struct {
	cmd  *exec.Cmd
	out  *bytes.Buffer
	errs *bytes.Buffer
}

func delegate(t *testing.T, home string, args ...string) *owner {
	t.Helper()
	o := &owner{cmd: exec.Command("scv", append([]string{"delegate", "--cwd", filepath.Dir(home)}, args...)...)}
	o.out, o.errs = &bytes.Buffer{}, &bytes.Buffer{}
	o.cmd.Env = append(os.Environ(), "SCV_HOME="+home)
	o.cmd.Stdout, o.cmd.Stderr = o.out, o.errs
	if err := o.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.cmd.Process.Kill(); _, _ = o.cmd.Process.Wait() })
	return o
}

func delegateHome(t *testing.T) string {
	t.Helper()
	home := newHome(t)
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(hides), 0o600); err != nil {
		t.Fatal(err)
	}
	return home
}

// entries waits until the list of runs is as wanted, and returns it.
func entries(t *testing.T, c *bus.Client, within time.Duration, wanted func([]wire.DelegationInfo) bool) []wire.DelegationInfo {
	t.Helper()
	for deadline := time.Now().Add(within); ; time.Sleep(10 * time.Millisecond) {
		status, err := c.Control(t.Context(), wire.DelegationsCommand{All: true})
		if err != nil {
			t.Fatal(err)
		}
		if list := status.Delegations.Entries; wanted(list) {
			return list
		} else if time.Now().After(deadline) {
			t.Fatalf("not within %s: %+v", within, list)
		}
	}
}

func none(list []wire.DelegationInfo) bool { return len(list) == 0 }

// whole is a run of which all children are known.
func whole(list []wire.DelegationInfo) bool { return len(list) == 1 && list[0].Processes >= 6 }

// An interrupt takes the whole tree along, also what hid, and leaves no record. So does a stop, and a terminal that
// is closed.
func TestDelegateInterrupted(t *testing.T) {
	home := delegateHome(t)
	d := startDaemon(t, home)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		o := delegate(t, home, "hides", "x")
		entries(t, d.client(t), 10*time.Second, whole)
		if err := o.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		err := o.cmd.Wait()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != exitFailed {
			t.Errorf("%v: it ended with %v: %s", sig, err, o.errs)
		}
		entries(t, d.client(t), time.Second, none)
	}
	d.terminate(t)
	awaitNobody(t, home)
}

// An owner that is killed takes nothing along: its run is an orphan within 5 s and gone within 10 s.
func TestDelegateOwnerKilled(t *testing.T) {
	home := delegateHome(t)
	d := startDaemon(t, home)
	c := d.client(t)
	o := delegate(t, home, "hides", "x")
	entries(t, c, 10*time.Second, whole)
	began := time.Now()
	if err := o.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = o.cmd.Process.Wait()
	entries(t, c, 5*time.Second, func(l []wire.DelegationInfo) bool { return len(l) == 1 && l[0].Orphaned || len(l) == 0 })
	entries(t, c, 10*time.Second-time.Since(began), none)
	status, err := c.Control(t.Context(), wire.StatusCommand{})
	if err != nil || status.Delegations.Reaped != 1 {
		t.Errorf("reaped %d, %v", status.Delegations.Reaped, err)
	}
	d.terminate(t)
	awaitNobody(t, home)
}

// A daemon that is killed meanwhile costs a foreground run nothing: its owner puts it on record again.
func TestDelegateOutlivesTheDaemon(t *testing.T) {
	home := delegateHome(t)
	d := startDaemon(t, home)
	o := delegate(t, home, "answers", "hello")
	entries(t, d.client(t), 10*time.Second, func(l []wire.DelegationInfo) bool { return len(l) == 1 && l[0].PID > 0 })
	d.kill()
	d = startDaemon(t, home)
	list := entries(t, d.client(t), 10*time.Second, func(l []wire.DelegationInfo) bool { return len(l) == 1 && l[0].PID > 0 })
	if list[0].Orphaned || list[0].OwnerPID != uint32(o.cmd.Process.Pid) {
		t.Errorf("after the restart: %+v", list[0])
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(home), "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := o.cmd.Wait(); err != nil || !strings.HasSuffix(o.out.String(), "answer to hello\n") {
		t.Errorf("%v: %s%s", err, o.out, o.errs)
	}
	entries(t, d.client(t), 5*time.Second, none)
	d.terminate(t)
}

// What a caller says of a run is not believed: not another's process, not another's run.
func TestForgedRegistrations(t *testing.T) {
	home := delegateHome(t)
	d := startDaemon(t, home)
	c := d.client(t)
	o := delegate(t, home, "answers", "x")
	mine := entries(t, c, 10*time.Second, func(l []wire.DelegationInfo) bool { return len(l) == 1 && l[0].PID > 0 })[0]
	ask := wire.DelegationRegister{Handle: "hides-000000", Agent: "hides", Cwd: home}
	if _, err := c.DelegationRegister(t.Context(), ask); err != nil {
		t.Fatal(err)
	}
	for name, pid := range map[string]uint32{
		"nobody": 0, "the first process": 1, "everybody": 1<<32 - 1, "the daemon": uint32(d.cmd.Process.Pid),
		"itself": uint32(os.Getpid()), "an agent of another": mine.PID,
	} {
		ask.PID = &pid
		_, err := c.DelegationRegister(t.Context(), ask)
		refusedAs(t, name, err, wire.DelegationError)
	}
	ask.PID = nil
	for _, handle := range []string{"", "hides-00000", "hides-0000000", "HIDES-000000", "../hides-000000", "hides-00000g"} {
		ask.Handle = handle
		_, err := c.DelegationRegister(t.Context(), ask)
		refusedAs(t, handle, err, wire.InvalidRequest)
	}
	ask.Handle, ask.Agent = mine.Handle, mine.Agent
	_, err := c.DelegationRegister(t.Context(), ask)
	refusedAs(t, "a run of another", err, wire.DelegationError)
	_, err = c.DelegationUpdate(t.Context(), wire.DelegationUpdate{Handle: mine.Handle, Outcome: wire.RunFinished})
	refusedAs(t, "the end of another's run", err, wire.DelegationError)
	entries(t, c, time.Second, func(l []wire.DelegationInfo) bool { return len(l) == 2 })
	_ = o.cmd.Process.Signal(syscall.SIGTERM)
	_, _ = o.cmd.Process.Wait()
	d.terminate(t)
	awaitNobody(t, home)
}

func refusedAs(t *testing.T, name string, err error, code wire.Code) {
	t.Helper()
	var refused *wire.Error
	if !errors.As(err, &refused) || refused.Code != code {
		t.Errorf("%s: %v, want %s", name, err, code)
	}
}

// A background run that a crash of the daemon cuts is told of as lost: once in the chat, and to who waits.
func TestBackgroundRunIsLostOnce(t *testing.T) {
	t.Parallel()
	home := delegateHome(t)
	d := startDaemon(t, home)
	c := d.client(t)
	ticket, err := c.DelegationStart(t.Context(), wire.DelegationStart{Agent: "hides", Prompt: "x", Cwd: home})
	if err != nil {
		t.Fatal(err)
	}
	entries(t, c, 10*time.Second, whole)
	for range 3 { // again and again
		d.kill()
		d = startDaemon(t, home)
		report := awaitReport(t, d.client(t), ticket.Handle)
		if report.Outcome != wire.RunLost || report.Text == nil || !strings.HasPrefix(*report.Text, "SCV was stopped while") {
			t.Errorf("report %+v", report)
		}
	}
	c = d.client(t)
	entries(t, c, 10*time.Second, none)
	attached, err := c.ChatAttach(t.Context(), wire.ChatAttach{Account: "default", AfterSeq: ptr(uint64(0))})
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	for _, l := range attached.Lines {
		if strings.Contains(l.Text, ticket.Handle+" was lost") {
			told++
		}
	}
	if told != 1 {
		t.Errorf("told %d times: %+v", told, attached.Lines)
	}
	d.terminate(t)
	awaitNobody(t, home)
}

func awaitReport(t *testing.T, c *bus.Client, handle string) wire.DelegationReport {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	for {
		report, err := c.DelegationWait(ctx, handle)
		if err != nil {
			t.Fatal(err)
		}
		if report.Outcome != wire.RunRunning {
			return report
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// The same request is the same background run, also after its end.
func TestBackgroundRunIsStartedOnce(t *testing.T) {
	home := delegateHome(t)
	d := startDaemon(t, home)
	c := d.client(t)
	if err := os.WriteFile(filepath.Join(home, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := bus.WithRequestID(t.Context(), "one-request")
	handles := map[string]bool{}
	for range 5 {
		ticket, err := c.DelegationStart(ctx, wire.DelegationStart{Agent: "answers", Prompt: "x", Cwd: home})
		if err != nil {
			t.Fatal(err)
		}
		handles[ticket.Handle] = true
		awaitReport(t, c, ticket.Handle)
	}
	if len(handles) != 1 {
		t.Errorf("%d runs of one request", len(handles))
	}
	d.terminate(t)
}
