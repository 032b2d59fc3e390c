package main

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

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
