package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"scv/wire"
)

func TestNoDaemon(t *testing.T) {
	missing := t.TempDir() + "/scv.sock"
	stale := t.TempDir() + "/scv.sock"
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	for _, path := range []string{missing, stale} {
		if _, err := Connect(t.Context(), SocketDialer(path)); !errors.Is(err, ErrNoDaemon) {
			t.Errorf("at %q: %v, want ErrNoDaemon", path, err)
		}
	}
}

// listener is a socket at which anything but a daemon listens.
func listener(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	path := t.TempDir() + "/scv.sock"
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			handle(conn)
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-ended
	})
	return path
}

func TestADaemonThatSaysNothing(t *testing.T) {
	path := listener(t, func(conn net.Conn) { t.Cleanup(func() { conn.Close() }) })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Connect(ctx, SocketDialer(path)); !errors.Is(err, ErrNotAnswering) {
		t.Errorf("%v, want ErrNotAnswering", err)
	}
}

func TestADaemonThatHangs(t *testing.T) {
	h := serveControl(t, func(ctx context.Context, _ Request) ([]byte, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := connect(t, h.Server).Control(ctx, wire.StatusCommand{}); !errors.Is(err, ErrNotAnswering) {
		t.Errorf("%v, want ErrNotAnswering", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := connect(t, h.Server).Control(ended, wire.StatusCommand{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
}

func TestADaemonThatStarts(t *testing.T) {
	if _, err := connect(t, start(t)).Control(t.Context(), wire.StatusCommand{}); !errors.Is(err, ErrStarting) {
		t.Errorf("%v, want ErrStarting", err)
	}
}

func TestADaemonThatIsTooOld(t *testing.T) {
	h := serveControl(t, status)
	c := connect(t, h.Server)
	begin := time.Now()
	if _, err := c.request(t.Context(), "daemon.future", nil); !errors.Is(err, ErrTooOld) {
		t.Errorf("%v, want ErrTooOld", err)
	}
	if took := time.Since(begin); took > patience {
		t.Errorf("known only after %v", took)
	}
	if _, err := c.Control(t.Context(), wire.StatusCommand{}); err != nil {
		t.Errorf("other requests fail too: %v", err)
	}
}

// TestDoAsksTwice cuts the connection under the first try, as a restart does.
func TestDoAsksTwice(t *testing.T) {
	var ids []string
	h := serveControl(t, func(_ context.Context, r Request) ([]byte, error) {
		ids = append(ids, r.ID)
		return wire.Encode(wire.DaemonStatus{PID: 7})
	})
	d := &cutting{Dialer: SocketDialer(h.SocketPath()), tries: 1}
	var got wire.DaemonStatus
	err := Do(t.Context(), d, func(ctx context.Context, c *Client) (err error) {
		d.cut(c)
		got, err = c.Control(ctx, wire.StatusCommand{})
		return err
	})
	if err != nil || got.PID != 7 || d.dials != 2 {
		t.Errorf("got %+v, %v after %d connections", got, err, d.dials)
	}
	named := WithRequestID(t.Context(), "mine")
	ask := func(ctx context.Context, c *Client) error {
		_, err := c.Control(ctx, wire.StatusCommand{})
		return err
	}
	if err := errors.Join(Do(named, d, ask), Do(t.Context(), d, ask), Do(t.Context(), d, ask)); err != nil {
		t.Fatal(err)
	}
	if len(ids) != 4 || ids[1] != "mine" || ids[0] == "" || ids[2] == ids[3] {
		t.Errorf("the request ids are %q", ids)
	}
}

// cutting breaks the first connections that are made through it.
type cutting struct {
	Dialer
	tries, dials int
	conn         net.Conn
}

func (d *cutting) Dial(ctx context.Context) (conn net.Conn, err error) {
	d.conn, err = d.Dialer.Dial(ctx)
	d.dials++
	return d.conn, err
}

func (d *cutting) cut(c *Client) {
	if d.tries--; d.tries >= 0 {
		d.conn.Close()
		<-c.Closed()
	}
}

// TestDoKeepsTheIDOfALostReply: the daemon saw the first request, and its reply was lost.
func TestDoKeepsTheIDOfALostReply(t *testing.T) {
	ids := make(chan string, 2)
	var d *cutting
	h := serveControl(t, func(ctx context.Context, r Request) ([]byte, error) {
		ids <- r.ID
		if len(ids) == 1 {
			d.conn.Close()
		}
		return status(ctx, r)
	})
	d = &cutting{Dialer: SocketDialer(h.SocketPath())}
	err := Do(t.Context(), d, func(ctx context.Context, c *Client) error {
		_, err := c.Control(ctx, wire.StatusCommand{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if first, second := <-ids, <-ids; first != second || first == "" {
		t.Errorf("one request had the ids %q and %q", first, second)
	}
}

func TestDoGivesUp(t *testing.T) {
	var dials atomic.Int32
	path := listener(t, func(conn net.Conn) {
		dials.Add(1)
		conn.Close()
	})
	err := Do(t.Context(), SocketDialer(path), func(context.Context, *Client) error { return nil })
	if !errors.Is(err, ErrLost) || dials.Load() != 2 {
		t.Errorf("%v after %d connections, want ErrLost after 2", err, dials.Load())
	}
}

func TestClosedTellsThatTheDaemonWentAway(t *testing.T) {
	h := serveControl(t, status)
	c := connect(t, h.Server)
	events, err := c.WatchConfirm(t.Context(), "0123456789ab")
	if err != nil {
		t.Fatal(err)
	}
	h.bus.Close()
	h.Server.Close()
	receive(t, c.Closed())
	if _, open := <-events; open {
		t.Error("an event came from a daemon that is gone")
	}
	if _, err := c.Control(t.Context(), wire.StatusCommand{}); !errors.Is(err, ErrLost) {
		t.Errorf("%v, want ErrLost", err)
	}
	if _, err := c.WatchConfirm(t.Context(), "x"); !errors.Is(err, ErrLost) {
		t.Errorf("%v, want ErrLost", err)
	}
}

func TestWatchEndsWithItsContext(t *testing.T) {
	h := serveControl(t, status)
	c := connect(t, h.Server)
	ctx, cancel := context.WithCancel(t.Context())
	lines, err := c.WatchChat(ctx, "default")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(
		h.bus.nc.Publish(wire.EventChat+"default", []byte(`{"not":"a line"}`)),
		h.bus.Publish(wire.EventChat+"other", wire.ChatLine{Seq: 1, Kind: wire.ChatReply}),
		h.bus.Publish(wire.EventChat+"default", wire.ChatLine{Seq: 2, Kind: wire.ChatReply}),
	); err != nil {
		t.Fatal(err)
	}
	if line := receive(t, lines); line.Seq != 2 {
		t.Errorf("got %+v", line)
	}
	cancel()
	if _, open := <-lines; open {
		t.Error("an event came after the end")
	}
	for _, bad := range []string{"", "*", ">", "a.b", "a b"} {
		if _, err := c.WatchChat(t.Context(), bad); err == nil {
			t.Errorf("%q can be watched", bad)
		}
	}
}

func TestSocketPath(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", "/run/user/7")
	t.Setenv("TMPDIR", "/tmp")
	long := strings.Repeat("x", 200)
	for _, c := range []struct{ home, run, want string }{
		{"/home/a/.scv", "/run/user/7", "/home/a/.scv/scv.sock"},
		{"/" + strings.Repeat("x", maxSocketPath-10), "/run/user/7", "/" + strings.Repeat("x", maxSocketPath-10) + "/scv.sock"},
		{"/" + strings.Repeat("x", maxSocketPath-9), "/run/user/7", "/run/user/7/scv-8973cbc5/scv.sock"},
		{"/" + long, "", tmpSocket()},
		{"/" + long, "relative", tmpSocket()},
		{"/" + long, "/" + long, tmpSocket()},
	} {
		t.Setenv("XDG_RUNTIME_DIR", c.run)
		if got := SocketPath(c.home, "8973cbc5"); got != c.want {
			t.Errorf("SocketPath(%d bytes) with %q is %q, want %q", len(c.home), c.run, got, c.want)
		}
	}
}

func tmpSocket() string { return fmt.Sprintf("/tmp/scv-%d-8973cbc5/scv.sock", os.Getuid()) }

// TestDoWaitsForADaemonThatStarts: it listens and does not serve yet.
func TestDoWaitsForADaemonThatStarts(t *testing.T) {
	server := start(t)
	tries := 0
	err := Do(t.Context(), SocketDialer(server.SocketPath()), func(ctx context.Context, c *Client) error {
		_, err := c.Control(ctx, wire.StatusCommand{})
		if tries++; tries == 2 {
			s, err := Serve(t.Context(), server.DaemonConn, server.DaemonPassword(), "dev", []Endpoint{{"control", wire.SubjectControl, status}}, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
		}
		return err
	})
	if err != nil || tries != 3 {
		t.Errorf("%v after %d tries", err, tries)
	}
}
