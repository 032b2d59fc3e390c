package feishutest

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
)

func TestMessageIsPushedAndAcknowledged(t *testing.T) {
	p := New(t, Options{})
	app := p.App()
	l := newClient(t, p, app).dial()
	id := p.Say(p.Direct(app.ID, app.Owner), app.Owner, "hello")
	e, f := l.event()
	m := e.Event.Message
	if m.MessageID != id || m.ChatType != "p2p" || m.Content != `{"text":"hello"}` || e.Event.Sender.SenderID.OpenID != app.Owner {
		t.Errorf("event %+v", e)
	}
	if p.Acked(id) {
		t.Error("acknowledged before it was")
	}
	l.ack(f, "200")
	l.await("the ack", func() bool { return p.Acked(id) })
	if n := p.Pushes(id); n != 1 {
		t.Errorf("pushed %d times", n)
	}
}

func TestWhatIsNotTakenIsPushedAgain(t *testing.T) {
	p := New(t, Options{Repush: []time.Duration{time.Millisecond, time.Millisecond}})
	app := p.App()
	l := newClient(t, p, app).dial()
	id := p.Say(p.Direct(app.ID, app.Owner), app.Owner, "hello")
	first, f := l.event()
	l.ack(f, "500")
	second, _ := l.event()
	third, f := l.event()
	if first.Header.EventID != second.Header.EventID || third.Header.EventID != first.Header.EventID {
		t.Errorf("it comes as %q, %q, %q", first.Header.EventID, second.Header.EventID, third.Header.EventID)
	}
	l.ack(f, "200")
	l.await("the ack", func() bool { return p.Acked(id) })
	if n := p.Pushes(id); n != 3 {
		t.Errorf("pushed %d times", n)
	}
}

func TestNobodyConnectedIsHistoryOnly(t *testing.T) {
	p := New(t, Options{Repush: []time.Duration{0}})
	app := p.App()
	chat := p.Direct(app.ID, app.Owner)
	missed := p.Say(chat, app.Owner, "missed")
	l := newClient(t, p, app).dial()
	p.Say(chat, app.Owner, "unheard", Unheard())
	id := p.Say(chat, app.Owner, "heard")
	if e, _ := l.event(); e.Event.Message.MessageID != id {
		t.Errorf("event %+v", e)
	}
	if n := p.Pushes(missed); n != 0 {
		t.Errorf("what was missed is pushed %d times", n)
	}
}

func TestPingIsAnsweredWithTheConfiguration(t *testing.T) {
	p := New(t, Options{})
	l := newClient(t, p, p.App()).dial()
	p.Configure(ClientConfig{PingInterval: 7})
	p.Inject(Fault{Route: Pong, Lose: true})
	l.ping()
	l.ping()
	f := l.read()
	want := `{"ReconnectCount":0,"ReconnectInterval":0,"ReconnectNonce":0,"PingInterval":7}`
	if f.Method != control || f.header("type") != "pong" || string(f.Payload) != want {
		t.Errorf("pong %+v", f)
	}
	if n := p.Pings(p.App().ID); n != 2 {
		t.Errorf("%d pings", n)
	}
}

func TestFaultsOfAPush(t *testing.T) {
	seqs := func(l *line, n int) (seqs string) {
		for range n {
			f := l.read()
			seqs += f.header("seq") + "/" + f.header("sum") + " "
		}
		return seqs
	}
	for _, test := range []struct {
		name  string
		fault Fault
		n     int
		want  string // of the frames up to those of the next message
	}{
		{"none", Fault{}, 2, "0/1 0/1 "},
		{"copies", Fault{Copies: 2}, 4, "0/1 0/1 0/1 0/1 "},
		{"parts", Fault{Parts: 3}, 4, "0/3 1/3 2/3 0/1 "},
		{"shredded", Fault{Parts: 3, Shred: true}, 4, "2/3 1/3 0/3 0/1 "},
		{"lost", Fault{Lose: true}, 1, "0/1 "},
		{"of another app", Fault{App: "cli_other", Lose: true}, 2, "0/1 0/1 "},
		{"later", Fault{Skip: 1, Parts: 2}, 3, "0/1 0/2 1/2 "},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := New(t, Options{})
			app := p.App()
			l := newClient(t, p, app).dial()
			test.fault.Route = Push
			p.Inject(test.fault)
			for range 2 {
				p.Say(p.Direct(app.ID, app.Owner), app.Owner, "hello")
			}
			if got := seqs(l, test.n); got != test.want {
				t.Errorf("frames %q, want %q", got, test.want)
			}
		})
	}
}

func TestJunkAndAKilledSocket(t *testing.T) {
	p := New(t, Options{})
	app := p.App()
	l := newClient(t, p, app).dial()
	p.Inject(Fault{Route: Push, Junk: "{", Kill: true})
	p.Say(p.Direct(app.ID, app.Owner), app.Owner, "hello")
	if f := l.read(); string(f.Payload) != "{" {
		t.Errorf("payload %q", f.Payload)
	}
	if _, _, err := l.conn.Read(l.ctx); err == nil {
		t.Error("the socket lives")
	}
	l.await("no socket", func() bool { return p.Sockets(app.ID) == 0 })
}

func TestPartsMakeTheEvent(t *testing.T) {
	p := New(t, Options{})
	app := p.App()
	l := newClient(t, p, app).dial()
	p.Inject(Fault{Route: Push, Parts: 5, Shred: true})
	id := p.Say(p.Direct(app.ID, app.Owner), app.Owner, "hello")
	if e, _ := l.event(); e.Event.Message.MessageID != id {
		t.Errorf("event %+v", e)
	}
}

func TestKick(t *testing.T) {
	p := New(t, Options{})
	c := newClient(t, p, p.App())
	l := c.dial()
	if n := p.Kick(c.app.ID); n != 1 || p.Sockets(c.app.ID) != 0 {
		t.Errorf("%d kicked, %d left", n, p.Sockets(c.app.ID))
	}
	if _, _, err := l.conn.Read(l.ctx); err == nil {
		t.Error("the socket lives")
	}
	c.dial().ping()
	c.await("a ping", func() bool { return p.Pings(c.app.ID) == 1 })
}

func TestHalfOpen(t *testing.T) {
	for _, early := range []bool{false, true} {
		p := New(t, Options{})
		app := p.App()
		c := newClient(t, p, app)
		p.Inject(Fault{Route: Handshake, HalfOpen: early})
		l := c.dial()
		if !early && p.HalfOpen(app.ID) != 1 {
			t.Error("there is no socket")
		}
		l.ping()
		p.Say(p.Direct(app.ID, app.Owner), app.Owner, "hello")
		if _, _, err := l.conn.Read(expiring(t)); err == nil {
			t.Error("something passes")
		}
		if n := p.Pings(app.ID); n != 0 {
			t.Errorf("%d pings arrive", n)
		}
	}
}

func TestSocketsAreCountedAndKeysUsedOnce(t *testing.T) {
	p := New(t, Options{MaxConns: 1})
	c := newClient(t, p, p.App())
	to, _ := c.endpoint().Data["URL"].(string)
	spare, _ := c.endpoint().Data["URL"].(string)
	for _, dial := range []struct {
		to   string
		want string // Handshake-Autherrcode
	}{{to, ""}, {to, "514"}, {spare, "1000040350"}} {
		conn, res, err := websocket.Dial(c.ctx, dial.to, &websocket.DialOptions{HTTPClient: c.http})
		if dial.want == "" && err == nil {
			defer func() { _ = conn.CloseNow() }()
			c.await("a socket", func() bool { return p.Sockets(c.app.ID) == 1 })
			continue
		}
		if err == nil || res.Header.Get("Handshake-Autherrcode") != dial.want || res.Header.Get("Handshake-Status") != "514" {
			t.Errorf("dial: %v, %v", err, res.Header)
		}
	}
	if res := c.endpoint(); res.Code != codeTooMany {
		t.Errorf("endpoint %+v", res)
	}
}

func TestEndpoint(t *testing.T) {
	p := New(t, Options{Apps: []App{{}, {Brand: Lark}}})
	feishu, lark := newClient(t, p, p.Apps()[0]), newClient(t, p, p.Apps()[1])
	for host, c := range map[string]*client{"wss://msg-frontier.feishu.cn/ws/v2?": feishu, "wss://msg-frontier.larksuite.com/ws/v2?": lark} {
		if to, _ := c.endpoint().Data["URL"].(string); !strings.HasPrefix(to, host) {
			t.Errorf("the endpoint of %s is %s", c.app.Brand, to)
		}
	}
	p.Inject(Fault{Route: Endpoint, SocketURL: "wss://evil.example/?%"}, Fault{Route: Endpoint, Code: 1})
	if to, _ := feishu.endpoint().Data["URL"].(string); !strings.HasPrefix(to, "wss://evil.example/?wss://msg-frontier") {
		t.Errorf("the endpoint is %s", to)
	}
	if res := feishu.endpoint(); res.Code != 1 {
		t.Errorf("endpoint %+v", res)
	}
	p.SetSecret(feishu.app.ID, "another")
	if res := feishu.endpoint(); res.Code != codeAuthFailed || res.status != http.StatusOK {
		t.Errorf("endpoint %+v", res)
	}
}

func TestGroups(t *testing.T) {
	p := New(t, Options{Apps: []App{{}, {Groups: true, Name: "All ears"}}})
	one, all := p.Apps()[0], p.Apps()[1]
	group := p.Group(one.ID, all.ID)
	ears := newClient(t, p, all).dial()
	l := newClient(t, p, one).dial()
	first := p.Say(group, "ou_someone", "hello")
	second := p.Say(group, "ou_someone", "@Bot look at @All ears", Mention(one.BotID, all.BotID))
	e, _ := l.event()
	m := e.Event.Message
	if m.MessageID != second || m.ChatType != "group" || m.Content != `{"text":"@_user_1 look at @_user_2"}` {
		t.Errorf("message %+v", m)
	}
	if len(m.Mentions) != 2 || m.Mentions[0].Key != "@_user_1" || m.Mentions[0].ID.OpenID != one.BotID {
		t.Errorf("mentions %+v", m.Mentions)
	}
	var heard []string
	for range 2 {
		e, _ := ears.event()
		heard = append(heard, e.Event.Message.MessageID)
	}
	if diff := cmp.Diff([]string{first, second}, heard); diff != "" {
		t.Errorf("heard (-want +got):\n%s", diff)
	}
}

func TestReadEvent(t *testing.T) {
	p := New(t, Options{})
	l := newClient(t, p, p.App()).dial()
	p.Read(p.App().ID, p.App().Owner, "om_1")
	if e, _ := l.event(); e.Header.EventType != "im.message.message_read_v1" {
		t.Errorf("event %+v", e)
	}
}

func TestComplaints(t *testing.T) {
	good := func() *frame { return &frame{Service: serviceID, Headers: []header{{"type", "ping"}}} }
	for name, test := range map[string]struct {
		kind websocket.MessageType
		text func(event *frame) []byte
		want string
	}{
		"text":      {websocket.MessageText, func(*frame) []byte { return good().encode() }, "a text"},
		"omitted":   {websocket.MessageBinary, func(*frame) []byte { return good().encode()[2:] }, "field 1"},
		"cut off":   {websocket.MessageBinary, func(*frame) []byte { return good().encode()[:9] }, "no frame"},
		"service":   {websocket.MessageBinary, func(*frame) []byte { return (&frame{}).encode() }, "service"},
		"unknown":   {websocket.MessageBinary, func(*frame) []byte { return (&frame{Service: serviceID}).encode() }, "method"},
		"no biz_rt": {websocket.MessageBinary, func(e *frame) []byte { e.Payload = []byte(`{"code":200}`); return e.encode() }, "biz_rt"},
		"no code":   {websocket.MessageBinary, func(e *frame) []byte { e.Payload = []byte(`{}`); return e.encode() }, "says"},
		"stranger": {websocket.MessageBinary, func(*frame) []byte {
			return (&frame{Service: serviceID, Method: data, Headers: []header{{"message_id", "x"}}}).encode()
		}, "not sent"},
		"numbers": {websocket.MessageBinary, func(e *frame) []byte {
			e.SeqID, e.Payload, e.Headers = 0, []byte(`{"code":200}`), append(e.Headers, header{"biz_rt", "0"})
			return e.encode()
		}, "numbers"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Start(Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			l := newClient(t, p, p.App()).dial()
			p.Say(p.Direct(l.app.ID, l.app.Owner), l.app.Owner, "hello")
			_, e := l.event()
			if err := l.conn.Write(l.ctx, test.kind, test.text(e)); err != nil {
				t.Fatal(err)
			}
			l.await("a complaint", func() bool { return len(p.Complaints()) > 0 })
			if got := p.Complaints(); len(got) != 1 || !strings.Contains(got[0], test.want) {
				t.Errorf("complaints %q, want %q", got, test.want)
			}
		})
	}
}
