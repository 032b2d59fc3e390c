package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"scv/wire"
	"scv/wire/bus"
)

// rawPatience bounds every wait of a raw client.
const rawPatience = 20 * time.Second

// raw speaks to the daemon's socket by hand, as a client that is out for harm would.
type raw struct {
	conn  net.Conn
	in    *bufio.Reader
	inbox string
	asked int
}

// dialRaw connects and says nothing yet.
func dialRaw(home string) (*raw, error) {
	conn, err := net.Dial("unix", bus.SocketPath(home, instanceID(home)))
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Now().Add(rawPatience)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &raw{conn: conn, in: bufio.NewReaderSize(conn, 64<<10)}, nil
}

// newRaw is a client that was let in and hears its own replies.
func newRaw(t *testing.T, home string) *raw {
	t.Helper()
	r, err := dialRaw(home)
	if err == nil {
		name := randomID()
		r.inbox = "_INBOX_" + name + "."
		err = r.say("CONNECT {\"user\":%q,\"headers\":true,\"no_responders\":true,\"protocol\":1}\r\nSUB %s*  1\r\nPING\r\n", name, r.inbox)
	}
	if err == nil {
		_, err = r.until("PONG")
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *raw) say(format string, args ...any) error {
	_, err := fmt.Fprintf(r.conn, format, args...)
	return err
}

// until reads to a line that begins with prefix.
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

// reply is what came back: a body, or a refusal.
type reply struct {
	code string // Nats-Service-Error-Code, "" for an accepted request
	head string
	body string
}

// ask sends one request, whole and well-formed as the protocol goes, and waits for its reply.
func (r *raw) ask(subject, body string) (reply, error) {
	r.asked++
	inbox := r.inbox + strconv.Itoa(r.asked)
	if err := r.conn.SetDeadline(time.Now().Add(rawPatience)); err != nil {
		return reply{}, err
	}
	if err := r.say("PUB %s %s %d\r\n%s\r\n", subject, inbox, len(body), body); err != nil {
		return reply{}, err
	}
	for {
		line, err := r.in.ReadString('\n')
		if err != nil {
			return reply{}, err
		}
		words := strings.Fields(line)
		if len(words) < 4 || words[0] != "MSG" && words[0] != "HMSG" {
			continue
		}
		got, err := r.message(words)
		if err != nil || words[1] == inbox {
			return got, err
		}
	}
}

// message reads what an MSG or HMSG line announces.
func (r *raw) message(words []string) (reply, error) {
	total, err := strconv.Atoi(words[len(words)-1])
	if err != nil {
		return reply{}, err
	}
	head := 0
	if words[0] == "HMSG" {
		if head, err = strconv.Atoi(words[len(words)-2]); err != nil {
			return reply{}, err
		}
	}
	all := make([]byte, total+len("\r\n"))
	if _, err := io.ReadFull(r.in, all); err != nil {
		return reply{}, err
	}
	got := reply{head: string(all[:head]), body: string(all[head:total])}
	_, after, _ := strings.Cut(got.head, "Nats-Service-Error-Code:")
	code, _, _ := strings.Cut(after, "\r\n")
	got.code = strings.TrimSpace(code)
	return got, nil
}

func (r *raw) close() { _ = r.conn.Close() } // nothing is kept that a failure could lose

// awaitIdle waits until no run is under way.
func awaitIdle(t *testing.T, control func(context.Context, wire.Command) (wire.DaemonStatus, error)) {
	t.Helper()
	for deadline := time.Now().Add(rawPatience); ; time.Sleep(5 * time.Millisecond) {
		status, err := control(t.Context(), wire.DelegationsCommand{All: true})
		if err != nil {
			t.Fatal(err)
		}
		if len(status.Delegations.Entries) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("runs go on: %+v", status.Delegations)
		}
	}
}
