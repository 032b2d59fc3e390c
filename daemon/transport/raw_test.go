package transport_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"scv/wire/bus"
)

// raw speaks the protocol by hand, as a client that is out for harm would.
type raw struct {
	tb   testing.TB
	conn net.Conn
	in   *bufio.Reader
}

const patience = time.Minute // of a test for what must happen; never used up when all is well

func dialRaw(tb testing.TB, d bus.Dialer) *raw {
	tb.Helper()
	conn, err := d.Dial(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience))
	return &raw{tb, conn, bufio.NewReader(conn)}
}

func (r *raw) say(format string, args ...any) {
	// A write may fail because the server has cut us already: then reading tells.
	fmt.Fprintf(r.conn, format, args...)
}

// hello waits for the server's first word: over a pipe nobody may talk while the other does.
func (r *raw) hello(name string) {
	r.expect("INFO")
	r.say("CONNECT {\"user\":%q,\"headers\":true,\"no_responders\":true,\"protocol\":1}\r\n", name)
}

// until reads lines to one that begins with prefix, or to the end of the connection.
func (r *raw) until(prefix string) (string, error) {
	for {
		line, err := r.in.ReadString('\n')
		if err != nil {
			return "", err
		}
		if strings.HasPrefix(line, prefix) {
			return strings.TrimSpace(line), nil
		}
	}
}

func (r *raw) expect(prefix string) string {
	r.tb.Helper()
	line, err := r.until(prefix)
	if err != nil {
		r.tb.Fatalf("waiting for %q: %v", prefix, err)
	}
	return line
}

// expectCut waits for the server to end the connection, and gives what it said.
func (r *raw) expectCut() string {
	r.tb.Helper()
	said, err := io.ReadAll(r.in)
	if e, ok := err.(net.Error); ok && e.Timeout() {
		r.tb.Fatal("the connection was not cut")
	}
	return string(said)
}

func name(n int) string { return fmt.Sprintf("%032x", n) }
