package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"scv/wire"
	"scv/wire/bus"
)

// TestWatchedDaemonRestarts: what a watch shows of a daemon that goes over to a new release is that it does.
func TestWatchedDaemonRestarts(t *testing.T) {
	refused := wire.Refuse(wire.Unavailable, "that did not work inside the daemon")
	for _, c := range []struct {
		err      error
		restarts bool
		says     string
	}{
		{refused, true, "restarting"},
		{refused, false, "did not work inside"},
		{fmt.Errorf("%w (EOF)", bus.ErrLost), false, "restarting or stopping"},
		{bus.ErrStarting, false, "restarting or stopping"},
		{errors.New("no daemon is running"), false, "no daemon is running"},
	} {
		if got := between(c.err, c.restarts).Error(); !strings.Contains(got, c.says) {
			t.Errorf("%v, restarts %v: %s", c.err, c.restarts, got)
		}
	}
}

// TestAWatchNobodyReads: a watch ends with its reader, though it has nothing new to say.
func TestAWatchNobodyReads(t *testing.T) {
	f := newFake(t)
	f.onControl(func(wire.Command) (wire.DaemonStatus, error) { return wire.DaemonStatus{Version: "1.0.0", PID: 1}, nil })
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ended := make(chan int, 1)
	go func() {
		ended <- run(t.Context(), []string{"--home", f.home, "status", "--watch"}, strings.NewReader(""), w, io.Discard, func(string) string { return "" })
	}()
	if _, err := r.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	r.Close()
	select {
	case code := <-ended:
		if code != exitUnread {
			t.Errorf("exit %d", code)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it goes on")
	}
}

// TestSomebodyElsesHome: a closed door is named in words, with what to do.
func TestSomebodyElsesHome(t *testing.T) {
	a := &app{ctx: t.Context(), getenv: func(string) string { return "/home/other/.scv" }}
	err := a.explain(fmt.Errorf("cannot reach the daemon: %w", syscall.EACCES))
	if !strings.Contains(err.Error(), "you may not use the daemon of /home/other/.scv") || hintOf(err) != notYours || exitCode(err) != exitFailed {
		t.Errorf("%v, %q", err, hintOf(err))
	}
}

// TestAnotherReleaseIsInstalled: status and doctor say how to go over to it.
func TestAnotherReleaseIsInstalled(t *testing.T) {
	f := newFake(t)
	f.onControl(func(wire.Command) (wire.DaemonStatus, error) {
		return wire.DaemonStatus{Version: "0.0.1-older", PID: 1}, nil
	})
	for _, verb := range []string{"status", "doctor"} {
		if got := at(t, f.home).scv(verb); !strings.Contains(got.out, "scv restart --when-idle") {
			t.Errorf("%s: %+v", verb, got)
		}
	}
}
