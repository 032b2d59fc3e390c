package transport_test

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"scv/daemon/caller"
	"scv/daemon/transport"
	"scv/wire"
	"scv/wire/bus"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(helloAt); path != "" {
		sayHello(path)
		return
	}
	if path := os.Getenv(floodAt); path != "" {
		flood(path)
		return
	}
	goleak.VerifyTestMain(m)
}

// The test binary run with this variable says hello at the socket it names, and prints what it hears.
const helloAt = "SCV_TEST_HELLO_AT"

func sayHello(path string) {
	conn, err := net.Dial("unix", path)
	if err != nil {
		os.Stdout.WriteString(err.Error())
		return
	}
	conn.SetDeadline(time.Now().Add(3 * time.Second))
	io.WriteString(conn, "CONNECT {\"user\":\""+name(1)+"\"}\r\nPING\r\n")
	lines := bufio.NewScanner(conn)
	for lines.Scan() && lines.Text() != "PONG" {
		os.Stdout.WriteString(lines.Text() + "\n")
	}
	os.Stdout.WriteString("last: " + lines.Text() + "\n")
}

// The test binary run with this variable floods the socket it names with connections, until its input
// ends.
const floodAt = "SCV_TEST_FLOOD_AT"

func flood(path string) {
	over := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(over)
	}()
	var held []net.Conn
	for n := 0; ; n++ {
		select {
		case <-over:
			return
		default:
		}
		conn, err := net.Dial("unix", path)
		if err != nil { // the queue is full
			time.Sleep(time.Millisecond)
			continue
		}
		if n%2 == 0 {
			io.WriteString(conn, "CONNECT {\"user\":\""+name(os.Getpid()<<32+n)+"\"}\r\n")
		}
		if held = append(held, conn); len(held) > 600 {
			held[0].Close()
			held = held[1:]
		}
	}
}

// house is a transport with a served bus.
type house struct {
	*transport.Server
	bus *bus.Server
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// outsider is a peer outside every delegated run, insider one inside.
var (
	outsider = transport.Peer{PID: 4711}
	insider  = transport.Peer{PID: 4712, Verdict: caller.Verdict{Inside: true}}
)

// identify takes every peer at a socket for this process, outside.
func identify(*net.UnixConn) transport.Peer {
	return transport.Peer{PID: os.Getpid(), UID: os.Getuid()}
}

// status answers daemon.control with a status whose version is the asking user.
func status(_ context.Context, r bus.Request) ([]byte, error) {
	if _, err := wire.DecodeCommand(r.Data); err != nil {
		return nil, err
	}
	return wire.Encode(wire.DaemonStatus{Version: r.Peer})
}

func control(h bus.Handler) []bus.Endpoint {
	return []bus.Endpoint{{Name: "control", Subject: wire.SubjectControl, Handle: h}}
}

func open(tb testing.TB, o transport.Options, endpoints []bus.Endpoint) house {
	tb.Helper()
	o.Log = quiet()
	if o.Identify == nil {
		o.Identify = identify
	}
	server, err := transport.Start(tb.Context(), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(server.Close)
	served, err := bus.Serve(tb.Context(), server.DaemonConn, server.DaemonPassword(), "1.2.3", endpoints, quiet())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(served.Close)
	return house{server, served}
}

// as dials in-process as the peer.
type as struct {
	server *transport.Server
	peer   transport.Peer
}

func (a as) Dial(context.Context) (net.Conn, error) { return a.server.DialAs(a.peer) }

func client(tb testing.TB, d bus.Dialer) *bus.Client {
	tb.Helper()
	c, err := bus.Connect(tb.Context(), d)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return c
}

func TestARequestCarriesItsPeer(t *testing.T) {
	path := t.TempDir() + "/scv.sock"
	h := open(t, transport.Options{SocketPath: path}, control(status))
	for _, d := range []bus.Dialer{bus.SocketDialer(path), as{h.Server, outsider}} {
		got, err := client(t, d).Control(t.Context(), wire.StatusCommand{})
		if err != nil {
			t.Fatal(err)
		}
		if _, known := h.Peer(got.Version); !known {
			t.Errorf("the user %q is not known", got.Version)
		}
	}
}
