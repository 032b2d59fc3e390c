package transport_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"scv/daemon/caller"
	"scv/daemon/transport"
	"scv/wire"
	"scv/wire/bus"
)

// identifyChildren takes every other process for one inside a run of its own. A look takes a while, as a
// real one does.
func identifyChildren(conn *net.UnixConn) transport.Peer {
	time.Sleep(time.Millisecond)
	p := identifyUID(conn)
	if p.PID != os.Getpid() {
		p.Verdict = caller.Verdict{Inside: true, Handles: []string{strconv.Itoa(p.PID)}}
	}
	return p
}

// TestAFloodFromRunsLocksNobodyOut has processes of runs connect as fast as they can and keep all they
// get, half of them silently. Somebody outside still comes in, again and again.
func TestAFloodFromRunsLocksNobodyOut(t *testing.T) {
	path := t.TempDir() + "/scv.sock"
	open(t, transport.Options{SocketPath: path, Identify: identifyChildren}, control(status))
	for range 4 {
		child := exec.Command(os.Args[0])
		child.Env = []string{floodAt + "=" + path}
		child.Stderr = os.Stderr
		life, err := child.StdinPipe()
		if err == nil {
			err = child.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			life.Close()
			child.Wait()
		})
	}
	var slowest time.Duration
	for i := range 10 {
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		c, err := bus.Connect(ctx, bus.SocketDialer(path))
		if err == nil {
			_, err = c.Control(ctx, wire.StatusCommand{})
			c.Close()
		}
		cancel()
		if err != nil {
			t.Fatalf("connection %d, after %v: %v", i, time.Since(begin), err)
		}
		slowest = max(slowest, time.Since(begin))
	}
	t.Logf("the slowest of 10 took %v", slowest)
}
