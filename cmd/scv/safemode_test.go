package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"scv/internal/layout"
	"scv/wire"
)

// TestSafeModeTouchesNoRun (R11): a daemon that is killed while an agent works, and finds its store
// damaged, answers status, says what to do once, and leaves the agent alone: no word of that store may
// lead to a signal.
func TestSafeModeTouchesNoRun(t *testing.T) {
	t.Parallel()
	home := newHome(t)
	agent := "[agents.busy]\ncommand = [\"sh\", \"-c\", \"echo $$ > pid; exec sleep 300\"]\n"
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(agent), 0o600); err != nil {
		t.Fatal(err)
	}
	d := startDaemon(t, home)
	if _, err := d.client(t).ChatSend(t.Context(), wire.ChatSend{Account: "default", ID: "m1", Text: "work"}); err != nil {
		t.Fatal(err)
	}
	pid := awaitPID(t, filepath.Join(home, "workspace", "pid"))
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	d.kill()
	path := filepath.Join(home, layout.Store)
	whole := damageTree(t, path)
	d = startDaemon(t, home)
	c := d.client(t)
	for range 20 { // longer than an orphan is left alone by a sound daemon
		status, err := c.Control(t.Context(), wire.StatusCommand{})
		if err != nil || status.Components[0].State != wire.Failed || !strings.Contains(*status.Components[0].Error, "is damaged") {
			t.Fatalf("status: %+v, %v", status, err)
		}
		_, err = c.Control(t.Context(), wire.DelegationKillCommand{Orphans: true})
		if refused, ok := asRefusal(err); !ok || refused.Code != wire.Unavailable || !strings.Contains(refused.Text, "store restore") {
			t.Fatalf("kill: %v", err)
		}
		if err := syscall.Kill(pid, 0); err != nil {
			t.Fatalf("the agent is gone: %v", err)
		}
		time.Sleep(250 * time.Millisecond)
	}
	d.terminate(t)
	if n := strings.Count(d.log(), "safe mode"); n != 1 {
		t.Errorf("the log tells of it %d times:\n%s", n, d.log())
	}
	// With its store back the daemon ends what was left.
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	d = startDaemon(t, home)
	for deadline := time.Now().Add(15 * time.Second); syscall.Kill(pid, 0) == nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the agent was left running\n%s", d.log())
		}
	}
	d.terminate(t)
	awaitNobody(t, home)
}

func awaitPID(t *testing.T, path string) (pid int) {
	t.Helper()
	awaitFile(t, path)
	for deadline := time.Now().Add(10 * time.Second); pid == 0 && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, digit := range bytes.TrimSpace(raw) {
			pid = 10*pid + int(digit-'0')
		}
	}
	return pid
}

// damageTree zeroes everything but the two metas and returns what was there.
func damageTree(t *testing.T, path string) (whole []byte) {
	t.Helper()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(whole)
	clear(damaged[2*os.Getpagesize():])
	if err := os.WriteFile(path, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	return whole
}
