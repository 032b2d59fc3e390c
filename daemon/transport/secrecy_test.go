package transport_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"scv/daemon/transport"
	"scv/wire"
	"scv/wire/bus"
)

// TestNobodyElseAnswersOrListens has one client ask while another subscribes to all it can think of.
func TestNobodyElseAnswersOrListens(t *testing.T) {
	h := open(t, transport.Options{SocketPath: t.TempDir() + "/scv.sock"}, control(status))
	victim := client(t, bus.SocketDialer(h.SocketPath()))
	thief := dialRaw(t, bus.SocketDialer(h.SocketPath()))
	thief.hello(name(1))
	for i, subject := range []string{
		"daemon.control", "daemon.>", ">", "*.control", "_INBOX_>", "_INBOX_*.>", "_INBOX.>",
		"_INBOX_" + name(2) + ".>", "_R_.>", "$SRV.>", "$SRV.PING", "$SYS.>", "$JS.>",
	} {
		thief.say("SUB %s  %d\r\n", subject, i)
		thief.expect("-ERR 'Permissions Violation for Subscription")
		thief.say("SUB %s q %d\r\n", subject, 100+i)
		thief.expect("-ERR 'Permissions Violation for Subscription")
	}
	var user string
	for range 1000 {
		got, err := victim.Control(t.Context(), wire.StatusCommand{})
		if err != nil {
			t.Fatal(err)
		}
		if user == "" {
			user = got.Version
		}
		if got.Version != user {
			t.Fatalf("answered as %q, then as %q", user, got.Version)
		}
	}
	thief.say("PING\r\n")
	for line := ""; line != "PONG"; {
		if line = thief.expect(""); line != "PONG" && line != "PING" {
			t.Fatalf("the eavesdropper was sent %q", line)
		}
	}
}

func TestOnlyListedSubjectsCanBePublished(t *testing.T) {
	h := open(t, transport.Options{}, control(status))
	r := dialRaw(t, as{h.Server, outsider})
	r.hello(name(1))
	for _, subject := range []string{
		"daemon.event.chat.default", "daemon.event.confirm.x", "daemon.future", "_INBOX_" + name(2) + ".x", "_R_.x",
		"$SRV.STATS", "$SRV.STATS.scv", "$SYS.REQ.USER.INFO", "$JS.API.INFO",
	} {
		r.say("PUB %s 0\r\n\r\n", subject)
		r.expect("-ERR 'Permissions Violation for Publish to")
	}
}

// TestAReplyGoesOnlyToTheAsker: a reply sent elsewhere would be an event, or mail, that the daemon
// seems to have written.
func TestAReplyGoesOnlyToTheAsker(t *testing.T) {
	h := open(t, transport.Options{}, control(status))
	for i, reply := range []string{
		"daemon.event.confirm.0123456789ab", "_INBOX_" + name(99) + ".x", "_INBOX_" + name(2), "daemon.control",
	} {
		r := dialRaw(t, as{h.Server, outsider})
		r.hello(name(i))
		r.say("PUB daemon.control %s 19\r\n{\"action\":\"status\"}\r\n", reply)
		if said := r.expectCut(); !strings.Contains(said, "another inbox") {
			t.Errorf("reply to %s: cut with %q", reply, said)
		}
	}
}

// TestNobodyClaimsToBeAnother sends headers that nats-server and nats.go read differently. Without the
// gate some of them pass: the server does not see the header, and the client library sees only it.
func TestNobodyClaimsToBeAnother(t *testing.T) {
	h := open(t, transport.Options{}, control(status))
	const forged = `{"acc":"CLIENTS","user":"peer-1-1"}`
	for i, block := range []string{
		"Nats-Request-Info: " + forged + "\r\n\r\n",
		"X-Nats-Request-Info: 1\r\nNats-Request-Info: " + forged + "\r\n\r\n",
		"X: 1\nNats-Request-Info: " + forged + "\r\n\r\n",
		"X: 1\nNats-Request-Info: " + forged + "\r\n\r\n\r\n",
		"X: 1\nNats-Request-Info: " + forged + "\n\n\r\n",
		"Nats-Request-Info: " + forged + "\r\n\r\nX: 1\r\n\r\n",
		"nats-request-info: " + forged + "\r\n\r\n",
		"Scv-Request-Id: 1\nNats-Request-Info: " + forged + "\r\n\r\n",
		"Scv-Request-Id: 1\rNats-Request-Info: " + forged + "\r\n\r\n",
		"Scv-Request-Id: 1\r\n\r\nNats-Request-Info: " + forged + "\r\n\r\n",
		"\nNats-Request-Info: " + forged + "\r\n\r\n",
	} {
		if user := claim(t, h, name(i), "NATS/1.0\r\n"+block); user != "" && !strings.HasPrefix(user, "peer-4712-") {
			t.Errorf("the header block %q made its sender %q", block, user)
		}
	}
}

// claim asks for a status with a header block, and gives the user the daemon saw; "" when it was cut.
func claim(t *testing.T, h house, name, block string) string {
	t.Helper()
	const body = `{"action":"status"}`
	r := dialRaw(t, as{h.Server, insider})
	r.hello(name)
	r.say("SUB _INBOX_%s.a  1\r\n", name)
	r.say("HPUB daemon.control _INBOX_%s.a %d %d\r\n%s%s\r\n", name, len(block), len(block)+len(body), block, body)
	if _, err := r.until("MSG "); err != nil {
		return ""
	}
	line := r.expect("{")
	got, err := wire.Decode[wire.DaemonStatus]([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	return got.Version
}

func TestNamesAreUnguessableAndUsedOnce(t *testing.T) {
	h := open(t, transport.Options{}, control(status))
	first := dialRaw(t, as{h.Server, outsider})
	first.hello(name(1))
	first.say("PING\r\n")
	first.expect("PONG")
	for _, bad := range []string{name(1), "daemon", "", "*", ">", "abc", strings.Repeat("A", 32), strings.Repeat("0", 31) + "*", name(1) + "0"} {
		second := dialRaw(t, as{h.Server, outsider})
		second.hello(bad)
		if said := second.expectCut(); !strings.Contains(said, "-ERR 'authorization violation") {
			t.Errorf("the name %q was cut with %q", bad, said)
		}
	}
	first.say("PING\r\n")
	first.expect("PONG")
	first.conn.Close()
	for deadline := time.Now().Add(patience); ; { // the name is free again once the first is forgotten
		again := dialRaw(t, as{h.Server, outsider})
		again.hello(name(1))
		again.say("PING\r\n")
		if _, err := again.until("PONG"); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the name stays in use after its connection has ended")
		}
	}
}

func TestEventsReachOnlyThoseTheyAreFor(t *testing.T) {
	h := open(t, transport.Options{EventSubjectsInside: []string{wire.EventConfirm + ">"}}, control(status))
	out, in := client(t, as{h.Server, outsider}), client(t, as{h.Server, insider})
	chat, err := out.WatchChat(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	question, err := in.WatchConfirm(t.Context(), "0123456789ab")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.WatchChat(t.Context(), "default"); err == nil || !strings.Contains(err.Error(), bus.ErrDenied.Error()) {
		t.Errorf("a delegated run may watch the chat: %v", err)
	}
	publish(t, h, wire.EventChat+"default", wire.ChatLine{Seq: 7, Kind: wire.ChatReply})
	publish(t, h, wire.EventConfirm+"0123456789ab", wire.ConfirmInfo{ID: "0123456789ab", State: wire.Yes})
	if line := receive(t, chat); line.Seq != 7 {
		t.Errorf("got %+v", line)
	}
	if info := receive(t, question); info.State != wire.Yes {
		t.Errorf("got %+v", info)
	}
	blunt := dialRaw(t, as{h.Server, insider})
	blunt.hello(name(3))
	blunt.say("SUB daemon.event.chat.default  1\r\n")
	blunt.expect("-ERR 'Permissions Violation for Subscription")
	for i, subject := range []string{"daemon.event.>", "daemon.event.confirm.*", "daemon.event.confirm.>", "daemon.event.*.default"} {
		wild := dialRaw(t, as{h.Server, insider})
		wild.hello(name(4 + i))
		wild.say("SUB %s  1\r\n", subject)
		wild.expect("-ERR 'permissions violation for a subscription with a wildcard")
	}
}

func publish(t *testing.T, h house, subject string, v any) {
	t.Helper()
	if err := h.bus.Publish(subject, v); err != nil {
		t.Fatal(err)
	}
}

func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatal("no event")
		panic("unreachable")
	}
}

func TestASecondConnectIsCut(t *testing.T) {
	h := open(t, transport.Options{}, control(status))
	for i, second := range []string{
		`{}`, `{"user":"daemon","pass":""}`, fmt.Sprintf(`{"user":%q}`, name(2)), `{"user":"peer-1-1"}`,
	} {
		r := dialRaw(t, as{h.Server, outsider})
		r.hello(name(i))
		r.say("CONNECT %s\r\n", second)
		if said := r.expectCut(); !strings.Contains(said, "unknown protocol operation") {
			t.Errorf("a second CONNECT %s was cut with %q", second, said)
		}
	}
}

// TestTheServerRefusesWithoutPassword goes past the gate: the server itself must refuse too.
func TestTheServerRefusesWithoutPassword(t *testing.T) {
	h := open(t, transport.Options{}, control(status))
	for _, user := range []string{"daemon", name(1), "peer-4711-1", ""} {
		r := dialRaw(t, direct{h.Server})
		r.expect("INFO")
		r.say("CONNECT {\"user\":%q,\"pass\":\"guess\"}\r\nPING\r\n", user)
		if said := r.expectCut(); strings.Contains(said, "PONG") {
			t.Errorf("%q got in with a guessed password", user)
		}
	}
}

type direct struct{ *transport.Server }

func (d direct) Dial(context.Context) (net.Conn, error) { return d.DaemonConn() }

func TestPeersAreForgotten(t *testing.T) {
	h := open(t, transport.Options{}, control(status))
	c, err := bus.Connect(context.Background(), as{h.Server, outsider})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Control(t.Context(), wire.StatusCommand{})
	if err != nil {
		t.Fatal(err)
	}
	if p, known := h.Peer(got.Version); !known || p.PID != outsider.PID {
		t.Errorf("the peer of %q is %+v, %v", got.Version, p, known)
	}
	c.Close()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if _, known := h.Peer(got.Version); !known {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the peer is known after its connection ended")
		}
	}
}
