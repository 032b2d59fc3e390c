package transport_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"scv/daemon/transport"
	"scv/wire"
	"scv/wire/bus"
)

func onSocket(t *testing.T, h bus.Handler) house {
	t.Helper()
	return open(t, transport.Options{SocketPath: t.TempDir() + "/scv.sock"}, control(h))
}

// TestSilentConnectionsAreBounded opens more connections than there is room for, which never say who
// they are.
func TestSilentConnectionsAreBounded(t *testing.T) {
	h := onSocket(t, status)
	d := bus.SocketDialer(h.SocketPath())
	const silence = 1100
	var silent []*raw
	for range silence {
		silent = append(silent, dialRaw(t, d))
	}
	if _, err := client(t, d).Control(t.Context(), wire.StatusCommand{}); err != nil {
		t.Fatalf("another client is not served: %v", err)
	}
	cut := 0
	for _, r := range silent[:silence-256] {
		r.expectCut()
		cut++
	}
	newest := silent[silence-1]
	newest.hello(name(1))
	newest.say("PING\r\n")
	newest.expect("PONG")
	t.Logf("%d of %d silent connections were cut", cut, silence)
}

// TestACrowdIsNotLookedAt: of a process with many connections that say nothing, few are worth a look. One
// that speaks is looked at and served, and what others have is left alone.
func TestACrowdIsNotLookedAt(t *testing.T) {
	var looks, pid atomic.Int64
	pid.Store(4711)
	h := open(t, transport.Options{
		SocketPath: t.TempDir() + "/scv.sock",
		PID:        func(*net.UnixConn) int { return int(pid.Load()) },
		Identify: func(conn *net.UnixConn) transport.Peer {
			looks.Add(1)
			return identify(conn)
		},
	}, control(status))
	d := bus.SocketDialer(h.SocketPath())
	calm := dialRaw(t, d)
	calm.expect("INFO")
	pid.Store(4712)
	var silent []*raw
	for range 600 {
		silent = append(silent, dialRaw(t, d))
	}
	for _, r := range silent[17:500] {
		r.expectCut()
	}
	newest := silent[len(silent)-1]
	newest.hello(name(1))
	newest.say("PING\r\n")
	newest.expect("PONG")
	if _, err := client(t, d).Control(t.Context(), wire.StatusCommand{}); err != nil {
		t.Errorf("another of the crowd that speaks: %v", err)
	}
	if n := looks.Load(); n > 32 {
		t.Errorf("%d looks at a crowd of %d", n, len(silent))
	}
	calm.say("CONNECT {\"user\":%q}\r\nPING\r\n", name(2))
	calm.expect("PONG")
}

func TestASilentConnectionIsCutInTime(t *testing.T) {
	h := onSocket(t, status)
	begin := time.Now()
	r := dialRaw(t, bus.SocketDialer(h.SocketPath()))
	r.say("CONN") // and no more
	r.expectCut()
	if took := time.Since(begin); took < 4*time.Second || took > 8*time.Second {
		t.Errorf("cut after %v, want about 5 s", took)
	}
}

func TestAFullHouseTurnsAwayInWords(t *testing.T) {
	h := onSocket(t, status)
	d := bus.SocketDialer(h.SocketPath())
	for i := range 1024 {
		r := dialRaw(t, d)
		r.hello(name(i))
		r.say("PING\r\n")
		r.expect("PONG")
	}
	if _, err := bus.Connect(t.Context(), d); !errors.Is(err, bus.ErrTurnedAway) {
		t.Errorf("the 1,025th client was told %v", err)
	}
}

// TestNoiseHarmsNobody sends 10,000 random strings and the classic bad lines, before CONNECT and after.
func TestNoiseHarmsNobody(t *testing.T) {
	h := onSocket(t, status)
	d := bus.SocketDialer(h.SocketPath())
	watcher := client(t, d)
	if _, err := watcher.Control(t.Context(), wire.StatusCommand{}); err != nil {
		t.Fatal(err)
	}
	settle()
	before := runtime.NumGoroutine()
	random := rand.New(rand.NewPCG(1, 2))
	for i := range noises() {
		noise := make([]byte, random.IntN(200))
		for j := range noise {
			noise[j] = byte(random.Uint32())
		}
		disturb(t, d, i, string(noise))
	}
	for i, noise := range []string{
		"INFO {\r\n", strings.Repeat("x", 4097) + "\r\n", "PUB x 99999999999\r\n", "PUB x -1\r\n",
		"HPUB daemon.control 99 1\r\n", "HPUB daemon.control 5000 5000\r\n", "HPUB daemon.control 3 3\r\nabc\r\n",
		"PUB daemon.control 2\r\n{}xx", "\r\n", "MSG a 1 2\r\nhi\r\n", "SUB\r\n", "+OK\r\n", "CONNECT {\r\n", "CONNECT null\r\n",
		"CONNECT " + strings.Repeat("[", 3000) + "\r\n", "GET / HTTP/1.1\r\n\r\n",
	} {
		disturb(t, d, 2*i, noise)
		disturb(t, d, 2*i+1, noise)
	}
	for range 100 {
		if _, err := watcher.Control(t.Context(), wire.StatusCommand{}); err != nil {
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(patience); runtime.NumGoroutine() > before+20; settle() {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

// noises is fewer under -short: each is a connection.
func noises() int {
	if testing.Short() {
		return 500
	}
	return 10_000
}

func settle() { time.Sleep(10 * time.Millisecond) }

// disturb sends noise, on every other connection after a good CONNECT, and hangs up.
func disturb(t *testing.T, d bus.Dialer, i int, noise string) {
	t.Helper()
	conn, err := d.Dial(t.Context())
	if err != nil {
		t.Fatalf("connection %d: %v", i, err)
	}
	if i%2 == 1 {
		fmt.Fprintf(conn, "CONNECT {\"user\":\"%032x\"}\r\n", 1<<20+i)
	}
	conn.Write([]byte(noise))
	conn.Close()
}

// TestALongConnectIsCut: the line is bounded whatever it holds.
func TestALongConnectIsCut(t *testing.T) {
	h := onSocket(t, status)
	r := dialRaw(t, bus.SocketDialer(h.SocketPath()))
	r.say("CONNECT {\"user\":%q,\"name\":%q}\r\n", name(1), strings.Repeat("x", 4096))
	if said := r.expectCut(); !strings.Contains(said, "maximum control line exceeded") {
		t.Errorf("cut with %q", said)
	}
}

// TestAClientThatNeverReadsSlowsNobody has one client ask for more than will ever be kept for it, first
// in small replies and then in large ones, and take nothing.
func TestAClientThatNeverReadsSlowsNobody(t *testing.T) {
	big := make([]byte, 1<<20)
	h := onSocket(t, func(ctx context.Context, r bus.Request) ([]byte, error) {
		if string(r.Data) == "big" {
			return big, nil
		}
		return status(ctx, r)
	})
	d := bus.SocketDialer(h.SocketPath())
	c := client(t, d)
	alone := measure(t, c)
	deaf := dialRaw(t, d)
	deaf.hello(name(1))
	deaf.say("SUB _INBOX_%s.a  1\r\n", name(1))
	for range 5000 {
		deaf.say("PUB daemon.control _INBOX_%s.a 19\r\n{\"action\":\"status\"}\r\n", name(1))
	}
	small := measure(t, c)
	for range 20 {
		deaf.say("PUB daemon.control _INBOX_%s.a 3\r\nbig\r\n", name(1))
	}
	large := measure(t, c)
	t.Logf("p99 of 200 requests: alone %v, beside small replies that nobody takes %v, beside large ones %v", alone, small, large)
	if limit := max(250*time.Millisecond, 20*alone); small > limit || large > limit {
		t.Errorf("p99 beside a deaf client is over %v", limit)
	}
	for deadline := time.Now().Add(patience); ; settle() {
		if _, err := deaf.conn.Write([]byte("PING\r\n")); err != nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the deaf client was not cut")
		}
	}
}

// measure gives the 99th percentile of 200 requests.
func measure(t *testing.T, c *bus.Client) time.Duration {
	t.Helper()
	var took []time.Duration
	for range 200 {
		begin := time.Now()
		if _, err := c.Control(t.Context(), wire.StatusCommand{}); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	return took[197]
}
