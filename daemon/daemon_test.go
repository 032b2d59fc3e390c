package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"scv/daemon/caller"
	"scv/daemon/lock"
	"scv/daemon/process"
	"scv/daemon/restart"
	"scv/daemon/transport"
	"scv/internal/clock"
	"scv/wire"
	"scv/wire/bus"
)

// started is a daemon in this process, without a socket, in virtual time.
type started struct {
	*Daemon
	t     *testing.T
	clock *clock.Virtual
	stop  func()
}

// startInProcess runs a daemon over home inside a synctest bubble.
func startInProcess(t *testing.T, home string, clk *clock.Virtual) *started {
	t.Helper()
	return startAfter(t, home, clk, &restart.Start{})
}

// startAfter is startInProcess after what the first act of the program has found.
func startAfter(t *testing.T, home string, clk *clock.Virtual, found *restart.Start) *started {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	d := newDaemon(Options{
		Home: home, Version: "test", Log: slog.New(slog.DiscardHandler), Getenv: func(string) string { return "" },
		Environ: os.Environ(), Start: found, inProcess: true, clock: clk,
	}, process.NewTable())
	for _, step := range d.steps() {
		err := step.run(ctx)
		for end := time.Now().Add(time.Minute); errors.Is(err, lock.ErrRunning) && time.Now().Before(end); err = step.run(ctx) {
			time.Sleep(time.Millisecond) // the home's last daemon has stopped: a child that another test starts has its lock, until its exec is done
		}
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
	}
	s := &started{Daemon: d, t: t, clock: clk, stop: func() { cancel(); d.rooms.stop(d.log) }}
	return s
}

// client connects as an outsider, or as whom the verdict makes it.
func (s *started) client(v caller.Verdict) *bus.Client {
	s.t.Helper()
	c, err := bus.Connect(s.t.Context(), dialer{s.transport, transport.Peer{PID: 4242, UID: os.Getuid(), Verdict: v}})
	if err != nil {
		s.t.Fatalf("connect: %v", err)
	}
	return c
}

type dialer struct {
	server *transport.Server
	peer   transport.Peer
}

func (d dialer) Dial(context.Context) (net.Conn, error) { return d.server.DialAs(d.peer) }

func newHome(t *testing.T, config string) string {
	t.Helper()
	home := filepath.Join(t.TempDir(), "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return home
}

// TestConfirmOverThirtyMinutes is the whole life of a question in virtual time: asked, kept alive,
// found open by a restarted daemon, and expired exactly at its deadline.
func TestConfirmOverThirtyMinutes(t *testing.T) {
	home := newHome(t, "")
	synctest.Test(t, func(t *testing.T) {
		clk := clock.NewVirtual()
		d := startInProcess(t, home, clk)
		c := d.client(caller.Verdict{})
		status, err := c.Control(t.Context(), wire.ConfirmAskCommand{Question: "Deploy?"})
		if err != nil {
			t.Fatal(err)
		}
		id := status.Confirm.ID
		keepAlive := func(c *bus.Client, until time.Duration) wire.ConfirmState {
			for spent := time.Duration(0); spent < until; spent += 15 * time.Second {
				time.Sleep(15 * time.Second)
				status, err := c.Control(t.Context(), wire.ConfirmStatusCommand{ID: id})
				if err != nil {
					t.Fatal(err)
				}
				if status.Confirm.State != wire.Pending {
					return status.Confirm.State
				}
			}
			return wire.Pending
		}
		if got := keepAlive(c, 10*time.Minute); got != wire.Pending {
			t.Fatalf("after 10 minutes: %s", got)
		}
		c.Close()
		d.stop()
		time.Sleep(5 * time.Minute) // nobody can ask while no daemon runs
		d = startInProcess(t, home, clk)
		defer d.stop()
		c = d.client(caller.Verdict{})
		defer c.Close()
		events, err := c.WatchConfirm(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if got := keepAlive(c, 14*time.Minute+45*time.Second); got != wire.Pending {
			t.Fatalf("15 seconds before the deadline: %s", got)
		}
		if got := keepAlive(c, 30*time.Second); got != wire.Expired {
			t.Fatalf("at the deadline: %s", got)
		}
		if e := <-events; e.State != wire.Expired {
			t.Fatalf("event: %s", e.State)
		}
	})
}
