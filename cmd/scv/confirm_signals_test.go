package main

import (
	"bytes"
	"errors"
	"fmt"
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

// asking is a real scv that asks, as a child.
type asking struct {
	cmd  *exec.Cmd
	out  bytes.Buffer
	errs bytes.Buffer
}

func asks(t *testing.T, home, stdin string, args ...string) *asking {
	t.Helper()
	a := &asking{cmd: exec.Command("scv", args...)}
	a.cmd.Env = append(os.Environ(), "SCV_HOME="+home)
	a.cmd.Stdin, a.cmd.Stdout, a.cmd.Stderr = strings.NewReader(stdin), &a.out, &a.errs
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.cmd.Process.Kill(); _, _ = a.cmd.Process.Wait() })
	return a
}

func (a *asking) signal(t *testing.T, signals ...os.Signal) {
	t.Helper()
	for _, s := range signals {
		if err := a.cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
}

// code is how it ended; -1 by a signal.
func (a *asking) code(t *testing.T) int {
	t.Helper()
	var exit *exec.ExitError
	if err := a.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return a.cmd.ProcessState.ExitCode()
}

// stopped reports whether each of its threads stands still: a stop does not come to all of them at once.
func (a *asking) stopped() bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", a.cmd.Process.Pid))
	for _, path := range threads {
		stat, err := os.ReadFile(path)
		if _, after, _ := strings.Cut(string(stat), ") "); err != nil || !strings.HasPrefix(after, "T") {
			return false
		}
	}
	return len(threads) > 0
}

// notices is how many lines of the chat begin so.
func notices(t *testing.T, c *bus.Client, words string) (n int) {
	t.Helper()
	from := uint64(0)
	chat, err := c.ChatAttach(t.Context(), wire.ChatAttach{Account: "default", AfterSeq: &from})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range chat.Lines {
		if strings.Contains(l.Text, words) {
			n++
		}
	}
	return n
}

// TestInterruptedWhileStopped: a yes and an interrupt that reach a stopped scv together are no yes, and the owner
// hears that.
func TestInterruptedWhileStopped(t *testing.T) {
	d := startDaemon(t, newHome(t))
	c := d.client(t)
	const rounds = 4
	for i := range rounds {
		a := asks(t, d.home, "", "confirm", "Deploy?")
		until(t, "it is asked", func() bool { return open(t, c) == 1 })
		a.signal(t, syscall.SIGSTOP)
		until(t, "it stands still", a.stopped)
		say(t, c, randomID(), "yes")
		until(t, "it is answered", func() bool { return open(t, c) == 0 })
		a.signal(t, []os.Signal{syscall.SIGINT, syscall.SIGTERM}[i%2], syscall.SIGCONT)
		if code := a.code(t); code != exitOther || strings.Contains(a.out.String(), "yes") {
			t.Errorf("exit %d, stdout %q, stderr %q", code, a.out.String(), a.errs.String())
		}
		until(t, "the owner is told", func() bool { return notices(t, c, "Not going ahead after your yes") == i+1 })
	}
	d.terminate(t)
}

// TestTheSameSignalTwice: timeout(1) sends its signal to a process and then to the group it is in. That is one wish:
// the question is withdrawn, and the script hears it.
func TestTheSameSignalTwice(t *testing.T) {
	d := startDaemon(t, newHome(t))
	c := d.client(t)
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
		a := asks(t, d.home, "", "confirm", "Deploy?")
		until(t, "it is asked", func() bool { return open(t, c) == 1 })
		a.signal(t, sig, sig, sig)
		if code := a.code(t); code != exitOther || !strings.Contains(a.out.String(), "withdrawn") {
			t.Errorf("%v: exit %d, stdout %q, stderr %q", sig, code, a.out.String(), a.errs.String())
		}
		until(t, "it is withdrawn", func() bool { return open(t, c) == 0 })
	}
	d.terminate(t)
}

// TestAskersEndByNoSignal: an agent goes on after a hook that a signal ended, and a script is promised exit code 2.
// The first signal withdraws, the second ends it at once, both with a code.
func TestAskersEndByNoSignal(t *testing.T) {
	d := startDaemon(t, newHome(t))
	c := d.client(t)
	for name, args := range map[string][]string{"confirm": {"confirm", "Deploy?"}, "hook": {"hook", "permission"}} {
		a := asks(t, d.home, recorded(t, "pre_tool_use.json"), args...)
		until(t, "it is asked", func() bool { return open(t, c) == 1 })
		if err := d.cmd.Process.Signal(syscall.SIGSTOP); err != nil { // nothing can be withdrawn
			t.Fatal(err)
		}
		a.signal(t, syscall.SIGTERM, syscall.SIGINT)
		if code := a.code(t); code != exitOther {
			t.Errorf("%s ended with %v: %s", name, a.cmd.ProcessState, a.errs.String())
		}
		if err := d.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		list, err := c.ConfirmList(t.Context(), wire.ConfirmListRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range list.Confirms {
			if _, err := c.ConfirmWithdraw(t.Context(), q.Confirm.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	a := asks(t, d.home, recorded(t, "pre_tool_use.json"), "hook", "permission")
	until(t, "it is asked", func() bool { return open(t, c) == 1 })
	a.signal(t, syscall.SIGTERM)
	if code := a.code(t); code != 0 || !strings.Contains(a.out.String(), `"deny"`) {
		t.Errorf("one signal: exit %d, %s%s", code, a.out.String(), a.errs.String())
	}
	until(t, "it is withdrawn", func() bool { return open(t, c) == 0 })
	d.terminate(t)
}

// TestAskerLosesItsReader: that nobody reads what it says is no end by a signal either.
func TestAskerLosesItsReader(t *testing.T) {
	d := startDaemon(t, newHome(t))
	c := d.client(t)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("scv", "confirm", "Deploy?")
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), "SCV_HOME="+d.home), write, write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	until(t, "it is asked", func() bool { return open(t, c) == 1 })
	read.Close()
	say(t, c, randomID(), "yes")
	began := time.Now()
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitOther || time.Since(began) > aftermathLimit {
		t.Errorf("it ended with %v", cmd.ProcessState)
	}
	if n := notices(t, c, "Not going ahead after your yes"); n != 1 {
		t.Errorf("told %d times", n)
	}
	d.terminate(t)
}

// TestTheReaderOfADumpLeaves: no copy of the store stays behind, and nothing needs to be said.
func TestTheReaderOfADumpLeaves(t *testing.T) {
	d := startDaemon(t, newHome(t))
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read.Close()
	var errs bytes.Buffer
	cmd := exec.Command("scv", "store", "dump")
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), "SCV_HOME="+d.home), write, &errs
	_ = cmd.Run()
	write.Close()
	if code := cmd.ProcessState.ExitCode(); code != exitUnread || errs.Len() > 0 {
		t.Errorf("it ended with %v: %s", cmd.ProcessState, errs.String())
	}
	if left, err := filepath.Glob(filepath.Join(d.home, "snapshot-*")); err != nil || len(left) > 0 {
		t.Errorf("it left %q, %v", left, err)
	}
	d.terminate(t)
}
