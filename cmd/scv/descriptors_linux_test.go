package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"scv/wire"
	"scv/wire/bus"
)

// TestFewDescriptors starts a daemon with so few descriptors that connections alone could take them all,
// and has connections try: who is in is served, a kill works, a stranger is turned away in words, and
// when they are gone everybody is served again.
func TestFewDescriptors(t *testing.T) {
	home := newHome(t)
	writeConfig(t, home, diskConfig)
	limited := filepath.Join(filepath.Dir(home), "limited")
	if err := os.WriteFile(limited, []byte("#!/bin/sh\nulimit -n 200\nexec scv \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	d, handle := startSleeper(t, spawnDaemon(t, home, limited, nil))
	c := d.client(t)
	var crowd []*bus.Client
	var turned error
	for range 300 {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		guest, err := bus.Connect(ctx, bus.SocketDialer(bus.SocketPath(home, instanceID(home))))
		cancel()
		if err != nil {
			turned = err
			break
		}
		crowd = append(crowd, guest)
	}
	defer func() {
		for _, guest := range crowd {
			guest.Close()
		}
	}()
	if !errors.Is(turned, bus.ErrTurnedAway) {
		t.Errorf("after %d connections the next was told %v", len(crowd), turned)
	}
	if _, err := c.Control(t.Context(), wire.StatusCommand{}); err != nil {
		t.Errorf("status: %v", err)
	}
	if _, err := c.Control(t.Context(), wire.DelegationKillCommand{Handle: &handle}); err != nil {
		t.Errorf("kill: %v", err)
	}
	if d.running(t, "sleep", "300") {
		t.Errorf("the agent still runs\n%s", d.log())
	}
	for _, guest := range crowd {
		guest.Close()
	}
	crowd = nil
	awaitServed(t, d)
	d.recovers(t, c)
}

// TestNoDescriptors takes every descriptor away, as a limit does that is set too low: who is connected
// hears from the daemon, and so does a new scv; an agent that cannot be started is a failure in words; a
// kill kills; and when there are descriptors again all is as before.
func TestNoDescriptors(t *testing.T) {
	home := newHome(t)
	writeConfig(t, home, diskConfig)
	d, handle := withSleeper(t, home)
	c := d.client(t)
	d.limitDescriptors(t, d.descriptors(t))
	if _, err := c.Control(t.Context(), wire.StatusCommand{}); err != nil {
		t.Errorf("status: %v", err)
	}
	for range 3 { // one after the other: there is room for one
		if got := at(t, home).scv("status"); got.code != 0 {
			t.Errorf("status of a new scv: %+v\n%s", got, d.log())
		}
	}
	if _, err := c.ChatSend(t.Context(), wire.ChatSend{Account: "default", ID: "starved", Text: "hello"}); err != nil {
		t.Errorf("a message: %v", err)
	}
	if line := awaitAnswer(t, c, "starved"); line.Kind != wire.ChatFailure || !strings.Contains(line.Text, "too many open files") {
		t.Errorf("the answer is %+v", line)
	}
	if got := at(t, home).scv("kill", handle); got.code != 0 || d.running(t, "sleep", "300") {
		t.Errorf("kill: %+v\n%s", got, d.log())
	}
	d.limitDescriptors(t, 1024)
	awaitServed(t, d)
	d.recovers(t, c)
}

func awaitServed(t *testing.T, d *daemonProcess) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		got := at(t, d.home).scv("status")
		if got.code == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("nobody new is served: %+v\n%s", got, d.log())
		}
	}
}

// descriptors is how many descriptors a limit must allow for none to be left: the lowest free number.
func (d *daemonProcess) descriptors(t *testing.T) int {
	t.Helper()
	for n := 0; ; n++ {
		_, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", d.cmd.Process.Pid, n))
		if errors.Is(err, fs.ErrNotExist) {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (d *daemonProcess) limitDescriptors(t *testing.T, n int) {
	t.Helper()
	limit := unix.Rlimit{Cur: uint64(n), Max: 20000}
	if err := unix.Prlimit(d.cmd.Process.Pid, unix.RLIMIT_NOFILE, &limit, nil); err != nil {
		t.Fatal(err)
	}
}
