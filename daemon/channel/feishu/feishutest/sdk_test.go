//go:build platforms

// The vendor's Go SDK against the fake, unmodified: its API client in this process, its WebSocket client,
// which cannot be stopped, in a child. It has a build tag because compiling the SDK takes minutes.

package feishutest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	"github.com/larksuite/oapi-sdk-go/v3/event/dispatcher"
	larkim "github.com/larksuite/oapi-sdk-go/v3/service/im/v1"
	larkws "github.com/larksuite/oapi-sdk-go/v3/ws"
)

// asSDK is the first argument of a test binary that is to be the SDK's WebSocket client.
const asSDK = "feishutest-sdk"

func init() {
	if len(os.Args) == 5 && os.Args[1] == asSDK {
		listen(os.Args[2], os.Args[3], os.Args[4])
		os.Exit(0)
	}
}

// listen prints a line for each message and ends with its standard input.
func listen(domain, appID, secret string) {
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		os.Exit(0)
	}()
	var failed sync.Map
	events := dispatcher.NewEventDispatcher("", "").OnP2MessageReceiveV1(func(_ context.Context, e *larkim.P2MessageReceiveV1) error {
		m := e.Event.Message
		line, err := json.Marshal(heard{
			*m.MessageId, *m.MessageType, *m.Content, *m.ChatType, *e.Event.Sender.SenderId.OpenId, *e.Event.Sender.SenderType,
			*m.CreateTime, len(m.Mentions),
		})
		fmt.Printf("%s\n", line)
		if _, again := failed.LoadOrStore(*m.MessageId, true); !again && strings.Contains(*m.Content, "fail once") {
			return errors.New("as it was told")
		}
		return err
	})
	quiet := larkws.WithLogLevel(larkcore.LogLevelError + 1)
	err := larkws.NewClient(appID, secret, larkws.WithDomain(domain), larkws.WithEventHandler(events), quiet).Start(context.Background())
	fmt.Printf("ended: %v\n", err)
}

// heard is a message as the SDK gives it to its user.
type heard struct {
	ID, Kind, Content, ChatType, Sender, SenderType, CreateTime string
	Mentions                                                    int
}

// sdk is a child that listens.
type sdk struct {
	t     *testing.T
	p     *Platform
	ctx   context.Context
	lines chan string
}

func startSDK(t *testing.T, p *Platform, app App) *sdk {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	child := exec.CommandContext(ctx, os.Args[0], asSDK, p.PlainURL(), app.ID, app.Secret)
	return &sdk{t, p, ctx, startChild(t, child, cancel)}
}

func (s *sdk) await(what string, cond func() bool) {
	s.t.Helper()
	if err := s.p.Await(s.ctx, cond); err != nil {
		s.t.Fatalf("%s: %v", what, err)
	}
}

func (s *sdk) line() string {
	s.t.Helper()
	select {
	case line := <-s.lines:
		return line
	case <-s.ctx.Done():
		s.t.Fatal("the SDK says nothing")
		return ""
	}
}

func (s *sdk) heard() (h heard) {
	s.t.Helper()
	line := s.line()
	if err := json.Unmarshal([]byte(line), &h); err != nil {
		s.t.Fatalf("the SDK says %s", line)
	}
	return h
}

// quick has the SDK connect again at once.
var quick = ClientConfig{ReconnectCount: -1, ReconnectInterval: 1, PingInterval: 1}

func TestSDKHearsAndAcknowledges(t *testing.T) {
	p := New(t, Options{Config: quick})
	app := p.App()
	chat, group := p.Direct(app.ID, app.Owner), p.Group(app.ID)
	s := startSDK(t, p, app)
	s.await("a socket", func() bool { return p.Sockets(app.ID) == 1 })
	for _, say := range []struct {
		chat, text string
		opts       []Option
		fault      Fault
		want       heard
		times      int
	}{
		{chat: chat, text: "hello", want: heard{Kind: "text", Content: `{"text":"hello"}`, ChatType: "p2p"}, times: 1},
		{chat: chat, text: strings.Repeat("long ", 1000), fault: Fault{Parts: 7, Shred: true}, want: heard{Kind: "text", ChatType: "p2p"}, times: 1},
		{chat: chat, text: "twice", fault: Fault{Copies: 1}, want: heard{Kind: "text", ChatType: "p2p"}, times: 2},
		{chat: chat, opts: []Option{Image([]byte("x"))}, want: heard{Kind: "image", ChatType: "p2p"}, times: 1},
		{chat: chat, opts: []Option{Post("title", []map[string]any{{"tag": "text", "text": "hello"}})}, want: heard{Kind: "post", ChatType: "p2p"}, times: 1},
		{chat: group, text: "@Bot hello", opts: []Option{Mention(app.BotID)}, want: heard{Kind: "text", Content: `{"text":"@_user_1 hello"}`, ChatType: "group", Mentions: 1}, times: 1},
	} {
		say.fault.Route = Push
		p.Inject(say.fault)
		id := p.Say(say.chat, app.Owner, say.text, say.opts...)
		for range say.times {
			got := s.heard()
			if got.CreateTime == "" || got.Content == "" {
				t.Errorf("heard %+v", got)
			}
			if got.CreateTime = ""; say.want.Content == "" {
				got.Content = ""
			}
			say.want.ID, say.want.Sender, say.want.SenderType = id, app.Owner, "user"
			if got != say.want {
				t.Errorf("heard %+v, want %+v", got, say.want)
			}
		}
		s.await("the ack", func() bool { return p.Acked(id) })
		p.Heal()
	}
	s.await("pings at the interval of the pong", func() bool { return p.Pings(app.ID) >= 2 })
}

// often is a push again soon, until a slow client has taken it.
var often = slices.Repeat([]time.Duration{100 * time.Millisecond}, 200)

func TestSDKIsPushedAgainWhatItFailed(t *testing.T) {
	p := New(t, Options{Config: quick, Repush: often})
	app := p.App()
	s := startSDK(t, p, app)
	s.await("a socket", func() bool { return p.Sockets(app.ID) == 1 })
	id := p.Say(p.Direct(app.ID, app.Owner), app.Owner, "fail once")
	s.await("the ack", func() bool { return p.Acked(id) })
	if acks := p.Acks(); acks[0].Code != 500 {
		t.Errorf("acks %+v", acks)
	}
}

func TestSDKConnectsAgain(t *testing.T) {
	p := New(t, Options{Config: quick})
	app := p.App()
	s := startSDK(t, p, app)
	for i := range 3 {
		s.await("a socket", func() bool { return p.Sockets(app.ID) == 1 })
		id := p.Say(p.Direct(app.ID, app.Owner), app.Owner, fmt.Sprint("hello ", i))
		if got := s.heard(); got.ID != id {
			t.Errorf("heard %+v", got)
		}
		s.await("the ack", func() bool { return p.Acked(id) })
		p.Inject(Fault{Route: Endpoint, Code: 1}, Fault{Route: Handshake, Status: 503}) // each is tried again
		p.Kick(app.ID)
	}
}

func TestSDKIsRefused(t *testing.T) {
	for want, spoil := range map[string]func(*Platform){
		"514":        func(p *Platform) { p.SetSecret(p.App().ID, "another") },
		"403":        func(p *Platform) { p.Inject(Fault{Route: Endpoint, Code: 403}) },
		"1000040350": func(p *Platform) { p.Inject(Fault{Route: Endpoint, Code: codeTooMany}) },
		"514 ":       func(p *Platform) { p.Inject(Fault{Route: Handshake, Code: codeAuthFailed, AuthCode: codeTooMany}) },
	} {
		p := New(t, Options{Config: quick})
		app := p.App()
		spoil(p)
		if line := startSDK(t, p, app).line(); !strings.HasPrefix(line, "ended: ") || !strings.Contains(line, strings.TrimSpace(want)) {
			t.Errorf("the SDK says %q, want %q", line, want)
		}
	}
}

func TestSDKUsesUpOneToken(t *testing.T) {
	// The SDK keeps a token until three minutes before its end.
	p := New(t, Options{Apps: []App{{ID: "cli_renewed"}}, TokenLife: 3*time.Minute + time.Second})
	c := newSDKClient(t, p)
	c.sendText("one")
	c.sendText("two")
	if n := len(p.Requests(Token)); n != 1 {
		t.Errorf("%d tokens for two messages", n)
	}
	for len(p.Requests(Token)) == 1 && c.ctx.Err() == nil {
		c.sendText("more")
	}
	if n := len(p.Requests(Token)); n != 2 {
		t.Errorf("%d tokens after the first one's life", n)
	}
	p.ExpireTokens()
	if res := c.trySend("", "none"); res.Code != codeBadToken {
		t.Errorf("expired: %+v", res.CodeError)
	}
	if !slices.ContainsFunc(p.Requests(Send), func(r Request) bool { return strings.HasPrefix(r.Header.Get("Authorization"), "Bearer t-") }) {
		t.Error("no message carried a token")
	}
}
