package bus

import (
	"context"
	"log/slog"
	"net"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"scv/daemon/transport"
	"scv/wire"
)

// The test binary run with this variable listens at the socket it names.
const listenAt = "SCV_TEST_LISTEN_AT"

func TestMain(m *testing.M) {
	if path := os.Getenv(listenAt); path != "" {
		listen(path)
		return
	}
	goleak.VerifyTestMain(m)
}

// listen is what the test binary does as the stranger, until its input ends.
func listen(path string) {
	l, err := net.Listen("unix", path)
	if err == nil {
		err = os.Chmod(path, 0o666)
	}
	if err != nil {
		os.Stdout.WriteString(err.Error() + "\n")
		return
	}
	defer l.Close()
	os.Stdout.WriteString("listening\n")
	os.Stdin.Read(make([]byte, 1))
}

const patience = 20 * time.Second

// house is a real transport at a real socket.
type house struct {
	*transport.Server
	bus *Server
}

func start(tb testing.TB) *transport.Server {
	tb.Helper()
	server, err := transport.Start(tb.Context(), transport.Options{
		Log:        slog.New(slog.DiscardHandler),
		SocketPath: tb.TempDir() + "/scv.sock",
		Identify:   func(*net.UnixConn) transport.Peer { return transport.Peer{PID: 4711, UID: os.Getuid()} },
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(server.Close)
	return server
}

func serve(tb testing.TB, log *slog.Logger, endpoints ...Endpoint) house {
	tb.Helper()
	server := start(tb)
	s, err := Serve(tb.Context(), server.DaemonConn, server.DaemonPassword(), "dev", endpoints, log)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return house{server, s}
}

func serveControl(tb testing.TB, h Handler) house {
	tb.Helper()
	return serve(tb, slog.New(slog.DiscardHandler), Endpoint{"control", wire.SubjectControl, h})
}

func connect(tb testing.TB, server *transport.Server) *Client {
	tb.Helper()
	c, err := Connect(tb.Context(), SocketDialer(server.SocketPath()))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return c
}

func status(context.Context, Request) ([]byte, error) { return wire.Encode(wire.DaemonStatus{}) }

// receive gives what comes, or fails the test.
func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}
