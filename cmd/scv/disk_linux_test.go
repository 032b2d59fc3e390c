package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"scv/internal/layout"
	"scv/wire"
	"scv/wire/bus"
)

// An agent that never ends beside one that answers, so that there is something to kill.
const diskConfig = `
[agents.sleeper]
command = ["sh", "-c", "cat >/dev/null; touch began; exec sleep 300"]
[agents.parrot]
command = ["cat"]
[notify]
owner = ["local:default"]
`

// smallHome is a home on a disk of its own, with a size in bytes.
func smallHome(t *testing.T, size int) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root to mount a small disk")
	}
	home := newHome(t)
	if err := unix.Mount("tmpfs", home, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", size)); err != nil {
		t.Fatalf("cannot mount a small disk: %v", err)
	}
	t.Cleanup(func() { // after the daemon's own end: cleanups run backwards
		if err := unix.Unmount(home, 0); err != nil {
			t.Error(err)
		}
	})
	writeConfig(t, home, diskConfig)
	return home
}

// withSleeper starts a daemon in which the agent of one account runs and that of another answers. It
// returns the handle of the running one.
func withSleeper(t *testing.T, home string) (d *daemonProcess, handle string) {
	t.Helper()
	return startSleeper(t, startDaemon(t, home))
}

func startSleeper(t *testing.T, d *daemonProcess) (_ *daemonProcess, handle string) {
	t.Helper()
	if err := d.ready(t); err != nil {
		t.Fatalf("%v\n%s", err, d.log())
	}
	c := d.client(t)
	sleeps, answers := "sleeper", "parrot"
	tools := wire.ToolsOwner
	for account, agent := range map[string]*string{"busy": &sleeps, "default": &answers} {
		_, err := c.Control(t.Context(), wire.ChannelSetCommand{Channel: "local", Account: account, Enabled: true, RemoteTools: &tools})
		if err == nil {
			_, err = c.AccountSet(t.Context(), wire.AccountSet{Channel: "local", Account: account, Agent: agent})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	until(t, "the account runs with its new settings", func() bool {
		_, err := c.ChatSend(t.Context(), wire.ChatSend{Account: "busy", ID: "work", Text: "sleep"})
		return err == nil
	})
	awaitFile(t, filepath.Join(d.home, "workspace", "began"))
	status, err := c.Control(t.Context(), wire.DelegationsCommand{})
	if err != nil || len(status.Delegations.Entries) != 1 {
		t.Fatalf("the run: %+v, %v", status.Delegations, err)
	}
	return d, status.Delegations.Entries[0].Handle
}

// refusesWhile holds what must be so while the store cannot be written: the daemon says so, answers what
// it can read, and kills.
func (d *daemonProcess) refusesWhile(t *testing.T, handle string, fails func() error) {
	t.Helper()
	if refused, ok := asRefusal(awaitError(t, fails)); !ok || refused.Code != wire.Unavailable || !strings.Contains(refused.Text, "cannot be written") {
		t.Fatalf("a write was told %+v\n%s", refused, d.log())
	}
	h := at(t, d.home)
	for _, verb := range []string{"status", "status --json", "delegations --all", "channels"} {
		if got := h.scv(strings.Fields(verb)...); got.code != 0 {
			t.Errorf("scv %s: %+v", verb, got)
		}
	}
	// A full disk may still have room in the store's file for a few bytes, but never for a whole exchange.
	// A question that found room cannot be ended either: its asker is left to wait, and we interrupt it.
	patient := h.ctx
	ctx, cancel := context.WithTimeout(patient, 5*time.Second)
	defer cancel()
	h.ctx = ctx
	if got := h.scv("confirm", "--timeout", "2s", "Go on?"); got.code != exitOther || got.errOut == "" {
		t.Errorf("a question that cannot be kept: %+v", got)
	}
	if got := h.scv("chat", "--timeout", "2s", "--send", strings.Repeat("x", wire.MaxChatText)); got.code == 0 || got.errOut == "" {
		t.Errorf("a message that cannot be kept: %+v", got)
	}
	h.ctx = patient
	begin := time.Now()
	if got := h.scv("kill", handle); got.code != 0 {
		t.Errorf("kill: %+v\n%s", got, d.log())
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("the kill took %s", took)
	}
	if d.running(t, "sleep", "300") {
		t.Error("the agent still runs")
	}
}

// awaitError repeats a write until it fails: the disk has room for a few.
func awaitError(t *testing.T, write func() error) error {
	t.Helper()
	for range 500 {
		if err := write(); err != nil {
			return err
		}
	}
	t.Fatal("nothing ever failed")
	return nil
}

// running reports whether a process of this home was started with these words.
func (d *daemonProcess) running(t *testing.T, words ...string) bool {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		line, err := os.ReadFile(path)
		environ, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "environ"))
		if err == nil && strings.HasPrefix(string(line), strings.Join(words, "\x00")) && bytes.Contains(environ, []byte("SCV_HOME="+d.home+"\x00")) {
			return true
		}
	}
	return false
}

// recovers is what must be so once the fault is gone, in the same daemon: writes are taken, the kill has
// its one report, and the store is sound.
func (d *daemonProcess) recovers(t *testing.T, c *bus.Client) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		_, err := c.ChatSend(t.Context(), wire.ChatSend{Account: "default", ID: "after", Text: "anybody there?"})
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("it never took a write again: %v\n%s", err, d.log())
		}
	}
	if line := awaitAnswer(t, c, "after"); line.Kind != wire.ChatReply || line.Text != "anybody there?" {
		t.Errorf("the answer is %+v", line)
	}
	lines := reports(t, c, "busy", "work")
	if len(lines) != 1 || lines[0].Kind != wire.ChatFailure || !strings.Contains(lines[0].Text, "stopped on request") {
		t.Errorf("the reports of the killed run: %+v\n%s", lines, d.log())
	}
	awaitIdle(t, c.Control)
	d.terminate(t)
	if entries, err := os.ReadDir(filepath.Join(d.home, "runs")); err != nil || len(entries) > 0 {
		t.Errorf("folders of runs are left: %v, %v", entries, err)
	}
	awaitNobody(t, d.home)
}

// reports waits for an answer to a message, and then a moment for a second one that must not come.
func reports(t *testing.T, c *bus.Client, account, id string) (lines []wire.ChatLine) {
	t.Helper()
	var until time.Time
	for deadline := time.Now().Add(20 * time.Second); until.IsZero() || time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		attached, err := c.ChatAttach(t.Context(), wire.ChatAttach{Account: account, AfterSeq: new(uint64)})
		if err != nil {
			t.Fatal(err)
		}
		lines = nil
		for _, line := range attached.Lines {
			if line.InReplyTo != nil && *line.InReplyTo == id {
				lines = append(lines, line)
			}
		}
		if len(lines) > 0 && until.IsZero() {
			until = time.Now().Add(500 * time.Millisecond)
		}
		if time.Now().After(deadline) {
			return lines
		}
	}
	return lines
}

// TestDiskFull fills the disk of the home under a running daemon, and later makes room again.
func TestDiskFull(t *testing.T) {
	home := smallHome(t, 8<<20)
	d, handle := withSleeper(t, home)
	c := d.client(t)
	ballast := filepath.Join(home, "ballast")
	fill(t, ballast)
	n := 0
	d.refusesWhile(t, handle, func() error {
		n++
		_, err := c.ChatSend(t.Context(), wire.ChatSend{Account: "default", ID: fmt.Sprint("full-", n), Text: strings.Repeat("x", wire.MaxChatText)})
		return err
	})
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	d.recovers(t, c)
}

// fill writes a file until the disk has no byte left.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 64<<10); len(block) > 0; {
		if _, err := f.Write(block); errors.Is(err, unix.ENOSPC) {
			block = block[:len(block)/2]
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestUnwritableStore takes the right to write the store from everybody, as a disk does that was set
// read-only after a fault. A file system with an open file cannot be remounted so, hence the flag.
func TestUnwritableStore(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to make a file immutable")
	}
	home := newHome(t)
	writeConfig(t, home, diskConfig)
	d, handle := withSleeper(t, home)
	c := d.client(t)
	path := filepath.Join(home, "scv.db")
	if err := immutable(path, true); err != nil {
		t.Skipf("this file system knows no immutable files: %v", err)
	}
	t.Cleanup(func() {
		if err := immutable(path, false); err != nil {
			t.Error(err)
		}
	})
	n := 0
	d.refusesWhile(t, handle, func() error {
		n++
		_, err := c.ChatSend(t.Context(), wire.ChatSend{Account: "default", ID: fmt.Sprint("full-", n), Text: "hello"})
		return err
	})
	if err := immutable(path, false); err != nil {
		t.Fatal(err)
	}
	d.recovers(t, c)
}

func immutable(path string, on bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	flags, err := unix.IoctlGetUint32(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err != nil {
		return err
	}
	const flag = 0x10 // FS_IMMUTABLE_FL
	flags &^= flag
	if on {
		flags |= flag
	}
	return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, int(flags))
}

// TestReadOnlyHome: on a disk that cannot be written no daemon starts, and it says why; what is there can
// still be read, and once the disk is writable all is as before.
func TestReadOnlyHome(t *testing.T) {
	home := smallHome(t, 16<<20)
	d := startDaemon(t, home)
	at(t, home).scv("channels", "set", "local:default", "--agent", "parrot")
	if got := at(t, home).scv("chat", "--send", "hello"); got.code != 0 {
		t.Fatalf("chat: %+v", got)
	}
	d.kill()
	remount := func(flags uintptr) {
		if err := unix.Mount("tmpfs", home, "tmpfs", unix.MS_REMOUNT|flags, ""); err != nil {
			t.Fatal(err)
		}
	}
	remount(unix.MS_RDONLY)
	got := at(t, home).scv("run")
	if got.code != 1 || !strings.Contains(got.errOut, "read-only file system") || !strings.Contains(got.errOut, home) {
		t.Errorf("run: %+v", got)
	}
	if got := at(t, home).scv("store", "dump"); got.code != 0 || !strings.Contains(got.out, "local:default") {
		t.Errorf("dump: %+v", got)
	}
	if got := at(t, home).scv("status"); got.code != 3 {
		t.Errorf("status: %+v", got)
	}
	remount(0)
	startDaemon(t, home).terminate(t)
}

// TestStoreErrorsOnAFullDisk: the tools that need room change nothing, and send to who knows what is wrong.
func TestStoreErrorsOnAFullDisk(t *testing.T) {
	t.Parallel()
	home := smallHome(t, 2<<20)
	startDaemon(t, home).terminate(t)
	path := filepath.Join(home, layout.Store)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, filepath.Join(home, "ballast"))
	for _, tool := range []string{"compact", "backup"} {
		namesACommand(t, home, []string{"store", tool})
	}
	if got := apart(t, home, "doctor"); !strings.Contains(got.out, "it is full") {
		t.Errorf("the doctor does not see it: %+v", got)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the store changed: %v", err)
	}
}
