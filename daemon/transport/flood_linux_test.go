package transport_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"scv/daemon/caller"
	"scv/daemon/transport"
	"scv/wire"
	"scv/wire/bus"
)

// identifyByName takes a peer that bound itself to an abstract name for one inside the run of that name.
// A look takes a while, as a real one does.
func identifyByName(conn *net.UnixConn) transport.Peer {
	time.Sleep(time.Millisecond)
	p := transport.Peer{PID: os.Getpid(), UID: os.Getuid()}
	if run, inside := strings.CutPrefix(conn.RemoteAddr().String(), "@run-"); inside {
		run, _, _ = strings.Cut(run, ".")
		p.Verdict = caller.Verdict{Inside: true, Handles: []string{run}}
	}
	return p
}

// TestAFloodFromRunsLocksNobodyOut has processes of runs connect as fast as they can, half of them
// silently, and keep all they get. Somebody outside still comes in, again and again.
func TestAFloodFromRunsLocksNobodyOut(t *testing.T) {
	path := t.TempDir() + "/scv.sock"
	open(t, transport.Options{SocketPath: path, Identify: identifyByName}, control(status))
	ctx, stop := context.WithCancel(t.Context())
	var flood sync.WaitGroup
	t.Cleanup(func() {
		stop()
		flood.Wait()
	})
	for run := range 8 {
		flood.Go(func() { connectOnAndOn(ctx, path, run) })
	}
	for i := range 30 {
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		c, err := bus.Connect(ctx, bus.SocketDialer(path))
		if err == nil {
			_, err = c.Control(ctx, wire.StatusCommand{})
			c.Close()
		}
		cancel()
		if err != nil {
			t.Fatalf("connection %d, after %v: %v", i, time.Since(begin), err)
		}
	}
}

// connectOnAndOn holds the newest 200 connections of a run.
func connectOnAndOn(ctx context.Context, path string, run int) {
	var held []net.Conn
	defer func() {
		for _, conn := range held {
			conn.Close()
		}
	}()
	for n := 0; ctx.Err() == nil; n++ {
		from := &net.UnixAddr{Name: fmt.Sprintf("@run-%d.%d.%d", run, os.Getpid(), n), Net: "unix"}
		conn, err := net.DialUnix("unix", from, &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil { // the queue is full
			continue
		}
		if run%2 == 0 {
			fmt.Fprintf(conn, "CONNECT {\"user\":\"%032x\"}\r\n", run<<32+n)
		}
		if held = append(held, conn); len(held) > 200 {
			held[0].Close()
			held = held[1:]
		}
	}
}
