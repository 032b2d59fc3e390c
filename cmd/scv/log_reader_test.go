package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"scv/wire"
)

// toggle makes the daemon log a lot.
func (d *daemonProcess) toggle(t *testing.T, times int) {
	t.Helper()
	c := d.client(t)
	for i := range times {
		_, err := c.Control(t.Context(), wire.ChannelSetCommand{Channel: "local", Account: "default", Enabled: i%2 == 1})
		if err != nil {
			t.Fatalf("toggle %d: %v", i, err)
		}
	}
}

// TestLogReaderGone: the daemon outlives whoever read its log, as in scv run 2>&1 | head.
func TestLogReaderGone(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	d := spawnTo(t, w, newHome(t), "scv", nil, "--log-level", "debug")
	w.Close()
	if err := d.ready(t); err != nil {
		t.Fatal(err)
	}
	r.Close()
	d.toggle(t, 20)
	d.terminate(t)
}

// TestLogNobodyReads: a terminal stopped with Ctrl-S, or a full pipe, holds up neither the work nor the
// stop.
func TestLogNobodyReads(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	d := spawnTo(t, w, newHome(t), "scv", nil, "--log-level", "debug")
	w.Close()
	if err := d.ready(t); err != nil {
		t.Fatal(err)
	}
	d.toggle(t, 400)
	d.terminate(t)
}

// TestImpatientStop: a second signal does not leave agents behind without a daemon.
func TestImpatientStop(t *testing.T) {
	home := newHome(t)
	stubborn := "[agents.stubborn]\ncommand = [\"sh\", \"-c\", \"trap '' TERM; touch began; while :; do sleep 0.1; done\"]\n"
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(stubborn), 0o600); err != nil {
		t.Fatal(err)
	}
	d := startDaemon(t, home)
	if _, err := d.client(t).ChatSend(t.Context(), wire.ChatSend{Account: "default", ID: "m1", Text: "work"}); err != nil {
		t.Fatal(err)
	}
	awaitFile(t, filepath.Join(home, "workspace", "began"))
	if err := d.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond) // as long as a person waits before the next Ctrl-C
	d.terminate(t)
	awaitNobody(t, home)
}
