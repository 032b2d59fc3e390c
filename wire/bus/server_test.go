package bus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"scv/wire"
)

func code(err error) wire.Code {
	var refused *wire.Error
	if errors.As(err, &refused) {
		return refused.Code
	}
	return ""
}

func TestRefusalsTravelWithTheirCode(t *testing.T) {
	const secret = "hunter2"
	var log bytes.Buffer
	answers := map[string]error{
		"ok":       nil,
		"refuse":   wire.Refuse(wire.ComponentError, "no account %q: see\nscv channels list", "日本"),
		"internal": errors.New("cannot open " + secret),
	}
	h := serve(t, slog.New(slog.NewTextHandler(&log, nil)), Endpoint{
		"control", wire.SubjectControl,
		func(ctx context.Context, r Request) ([]byte, error) {
			c, err := wire.DecodeCommand(r.Data)
			if err != nil {
				return nil, err
			}
			id := c.(wire.ConfirmStatusCommand).ID
			if id == "panic" {
				panic("out of order")
			}
			if err := answers[id]; err != nil {
				return nil, err
			}
			return status(ctx, r)
		},
	})
	c := connect(t, h.Server)
	for id, want := range map[string]wire.Error{
		"ok":       {},
		"refuse":   {Code: wire.ComponentError, Text: `no account "日本": see scv channels list`},
		"internal": {Code: wire.Unavailable, Text: "internal error; see the daemon's log (scv logs)"},
		"panic":    {Code: wire.Unavailable, Text: "internal error; see the daemon's log (scv logs)"},
	} {
		_, err := c.Control(t.Context(), wire.ConfirmStatusCommand{ID: id})
		var got *wire.Error
		if want == (wire.Error{}) {
			if err != nil {
				t.Errorf("%s: %v", id, err)
			}
		} else if !errors.As(err, &got) || *got != want {
			t.Errorf("%s: got %#v, want %#v", id, err, want)
		}
	}
	h.bus.Close() // so that nobody writes to the log any more
	for _, want := range []string{secret, "a panic (string)", "dispatch.go"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not tell of %q", want)
		}
	}
	if strings.Contains(log.String(), "out of order") {
		t.Error("the log has the words of a panic, which could be a message's")
	}
}

// TestEveryBadLineIsRefused sends what the seed refuses, over a real socket.
func TestEveryBadLineIsRefused(t *testing.T) {
	h := serveControl(t, func(ctx context.Context, r Request) ([]byte, error) {
		if _, err := wire.DecodeCommand(r.Data); err != nil {
			return nil, err
		}
		return status(ctx, r)
	})
	c := connect(t, h.Server)
	file, err := os.ReadFile("../testdata/wire.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	sent := 0
	for line := range bytes.Lines(file) {
		var v struct {
			Type, In string
			Err      bool
		}
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		if v.Type != "DaemonCommand" || !v.Err {
			continue
		}
		sent++
		if _, err := c.request(t.Context(), wire.SubjectControl, []byte(v.In)); code(err) != wire.InvalidJSON {
			t.Errorf("%q: %v", v.In, err)
		}
	}
	if sent < 90 {
		t.Errorf("only %d lines were sent", sent)
	}
}

func TestTheSizeOfARequest(t *testing.T) {
	h := serveControl(t, func(_ context.Context, r Request) ([]byte, error) { return nil, nil })
	c := connect(t, h.Server)
	for size, want := range map[int]wire.Code{
		wire.MaxRequest - 1: "", wire.MaxRequest: "", wire.MaxRequest + 1: wire.InvalidRequest, wire.MaxReply: wire.InvalidRequest,
	} {
		if _, err := c.request(t.Context(), wire.SubjectControl, make([]byte, size)); code(err) != want || want == "" && err != nil {
			t.Errorf("the client, %d bytes: %v", size, err)
		}
		// A client that does not look first is told by the daemon.
		reply, err := c.nc.RequestMsgWithContext(t.Context(), &nats.Msg{Subject: wire.SubjectControl, Data: make([]byte, size)})
		if err != nil {
			t.Fatal(err)
		}
		if got := reply.Header.Get("Nats-Service-Error-Code"); got != string(want) {
			t.Errorf("the daemon, %d bytes: %q", size, got)
		}
	}
}

func TestTheSizeOfAReply(t *testing.T) {
	size := make(chan int, 1)
	h := serveControl(t, func(context.Context, Request) ([]byte, error) { return make([]byte, <-size), nil })
	c := connect(t, h.Server)
	for n, want := range map[int]wire.Code{wire.MaxReply: "", wire.MaxReply + 1: wire.InvalidRequest, 64 << 20: wire.InvalidRequest} {
		size <- n
		reply, err := c.request(t.Context(), wire.SubjectControl, nil)
		if code(err) != want || want == "" && len(reply) != n {
			t.Errorf("%d bytes: got %d, %v", n, len(reply), err)
		}
	}
}

// TestASlowRequestBlocksNoOther fills all workers but one, and then that one too: the requests behind
// wait, and none is lost.
func TestASlowRequestBlocksNoOther(t *testing.T) {
	release := make(chan struct{})
	busy := make(chan struct{}, 2*workers)
	h := serveControl(t, func(ctx context.Context, r Request) ([]byte, error) {
		if string(r.Data) == "slow" {
			busy <- struct{}{}
			<-release
		}
		return status(ctx, r)
	})
	c := connect(t, h.Server)
	var slow sync.WaitGroup
	ask := func(body string) {
		slow.Go(func() {
			if _, err := c.request(t.Context(), wire.SubjectControl, []byte(body)); err != nil {
				t.Errorf("%s: %v", body, err)
			}
		})
	}
	for range workers - 1 {
		ask("slow")
		receive(t, busy)
	}
	for range 100 {
		if _, err := c.Control(t.Context(), wire.StatusCommand{}); err != nil {
			t.Fatal(err)
		}
	}
	ask("slow")
	receive(t, busy)
	for range 100 {
		ask("quick")
	}
	close(release)
	slow.Wait()
}

// TestCloseLetsTheLastRepliesOut closes while a request is under way.
func TestCloseLetsTheLastRepliesOut(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	h := serveControl(t, func(ctx context.Context, r Request) ([]byte, error) {
		close(begun)
		<-release
		return status(ctx, r)
	})
	c := connect(t, h.Server)
	answered := make(chan error, 1)
	go func() {
		_, err := c.Control(t.Context(), wire.StatusCommand{})
		answered <- err
	}()
	receive(t, begun)
	closed := make(chan struct{})
	go func() {
		h.bus.Close()
		h.Server.Close()
		close(closed)
	}()
	select {
	case <-closed:
		t.Error("closed before its request was answered")
	case <-time.After(50 * time.Millisecond):
	}
	close(release)
	receive(t, closed)
	if err := receive(t, answered); err != nil {
		t.Errorf("the last reply: %v", err)
	}
}

func TestCloseDoesNotWaitForEver(t *testing.T) {
	release := make(chan struct{})
	begun := make(chan struct{})
	h := serveControl(t, func(context.Context, Request) ([]byte, error) {
		close(begun)
		<-release // whatever its context says
		return nil, nil
	})
	c := connect(t, h.Server)
	go c.Control(t.Context(), wire.StatusCommand{})
	receive(t, begun)
	begin := time.Now()
	h.bus.Close()
	if took := time.Since(begin); took > 2*(closeTimeout+endTimeout) {
		t.Errorf("closed after %v", took)
	}
	close(release)
}

func TestRequester(t *testing.T) {
	for _, c := range []struct {
		values []string
		want   string
	}{
		{nil, ""},
		{[]string{`{"acc":"CLIENTS","user":"peer-1-2","rtt":1}`}, "peer-1-2"},
		{[]string{`{"acc":"CLIENTS"}`}, ""},
		{[]string{`not JSON`}, ""},
		{[]string{`{"user":"peer-1-2"}`, `{"user":"peer-3-4"}`}, ""},
		{[]string{`{"user":"peer-1-2","user":"peer-3-4"}`}, ""},
	} {
		if got := requester(map[string][]string{headerRequester: c.values}); got != c.want {
			t.Errorf("%q is from %q, want %q", c.values, got, c.want)
		}
	}
}
