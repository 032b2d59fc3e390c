package feishu

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"scv/daemon/channel"
	"scv/daemon/channel/feishu/feishutest"
)

// What ends an attempt: whether a person is needed, and what they read.
func TestHowAttemptsEnd(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault feishutest.Fault
		final bool
		says  string
	}{
		{"wrong secret", feishutest.Fault{Route: feishutest.Token, Code: 10014}, true, "scv channels login"},
		{"unknown app", feishutest.Fault{Route: feishutest.Token, Code: 10003}, true, "scv channels login"},
		{"unknown code for the token", feishutest.Fault{Route: feishutest.Token, Code: 4711, Times: -1}, false, "code 4711"},
		{"secret refused for the connection", feishutest.Fault{Route: feishutest.Endpoint, Code: 514}, true, "scv channels login"},
		{"connection forbidden", feishutest.Fault{Route: feishutest.Endpoint, Code: 403}, true, "console"},
		{"too many connections", feishutest.Fault{Route: feishutest.Endpoint, Code: 1000040350}, false, "end the others"},
		{"busy", feishutest.Fault{Route: feishutest.Endpoint, Code: 1}, false, "busy"},
		{"overload", feishutest.Fault{Route: feishutest.Endpoint, Status: 503}, false, "HTTP 503"},
		{"nobody there", feishutest.Fault{Route: feishutest.Endpoint, Cut: true}, false, "cannot be reached"},
		{"handshake refused", feishutest.Fault{Route: feishutest.Handshake, Code: 514, AuthCode: 1000040350}, false, "refused"},
		{"not the platform's own", feishutest.Fault{Route: feishutest.Endpoint, SocketURL: "wss://evil.example/?service_id=1&access_key=s3cret"}, false, "not its own"},
		{"garbage", feishutest.Fault{Route: feishutest.Endpoint, Body: "<html>"}, false, "HTTP 200"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, feishutest.Options{})
			w.p.Inject(c.fault)
			if c.fault.Route == feishutest.Token && !c.final {
				w.p.Inject(c.fault) // for the bot's id and for the connection
			}
			if c.name == "unknown code for the token" {
				w.p.Inject(feishutest.Fault{Route: feishutest.Endpoint, Code: 4711})
			}
			w.make()
			w.Begin(w.adapter.Serve)
			err := w.Ended()
			final, ok := errors.AsType[*channel.PermanentError](err)
			if err == nil || ok != c.final {
				t.Fatalf("it ends with %v", err)
			}
			says := ""
			if ok {
				says = final.Advice
			} else if heard := w.Heard(); len(heard) > 0 {
				says = heard[len(heard)-1]
			}
			if !strings.Contains(says, c.says) || strings.Contains(says+err.Error()+w.Logged(), "s3cret") {
				t.Errorf("a person reads %q", says)
			}
			if slices.Contains(w.Heard(), "") {
				t.Errorf("contacts %q", w.Heard())
			}
			if slices.Contains(w.p.Dialed(), "evil.example") {
				t.Error("a host that is not the platform's was dialed")
			}
		})
	}
}

// Without the bot's own id only groups suffer.
func TestWithoutTheBotsID(t *testing.T) {
	w := newWorld(t, feishutest.Options{})
	w.p.Inject(feishutest.Fault{Route: feishutest.BotInfo, Status: 500, Times: -1})
	w.start()
	group := w.p.Group(w.app.ID)
	w.p.Say(group, "ou_x", "hi", feishutest.Mention(w.app.BotID))
	w.say("hello")
	if w.Await(1); !slices.Equal(w.Texts(), []string{"hello"}) || !strings.Contains(w.Logged(), "groups go unanswered") {
		t.Errorf("got %q; log: %s", w.Texts(), w.Logged())
	}
	w.Stop()
}

// An id that could not be asked is asked again by the first message in a group that may be for the bot.
func TestTheBotsIDIsAskedAgain(t *testing.T) {
	w := newWorld(t, feishutest.Options{})
	w.p.Inject(feishutest.Fault{Route: feishutest.BotInfo, Status: 503})
	w.start()
	group := w.p.Group(w.app.ID)
	w.p.Say(group, "ou_x", "hi", feishutest.Mention(w.app.BotID))
	w.say("hello")
	w.Until("hello", func() bool { return slices.Contains(w.Texts(), "hello") })
	if got := w.Texts(); !slices.Equal(got, []string{"hi", "hello"}) {
		t.Errorf("got %q", got)
	}
	w.Stop()
}

// A connection through which nothing ever comes is no contact, though the platform can be asked.
func TestADeafConnectionIsNoContact(t *testing.T) {
	w := newWorld(t, feishutest.Options{})
	w.SetCursor(`{"chats":{"` + w.chat + `":{"last_ms":1}}}`)
	w.p.Inject(feishutest.Fault{Route: feishutest.Handshake, HalfOpen: true})
	w.make()
	w.adapter.rhythm = rhythm{unit: 5 * time.Millisecond, slack: 100 * time.Millisecond}
	w.Begin(w.adapter.Serve)
	if err := w.Ended(); err == nil || slices.Contains(w.Heard(), "") {
		t.Errorf("contacts %q, %v", w.Heard(), err)
	}
}

// A message whose push is lost while a later one arrives is caught up on: the checkpoint is not trusted to
// the millisecond.
func TestALostPushBeforeALaterMessage(t *testing.T) {
	w := newWorld(t, feishutest.Options{})
	w.start()
	at := time.Now()
	w.say("first", feishutest.At(at), feishutest.Unheard())
	w.say("second", feishutest.At(at.Add(5*time.Second)))
	w.Await(1)
	w.Stop()
	w.start()
	w.Until("the first message", func() bool { return slices.Contains(w.Texts(), "first") })
	w.Stop()
}

// A handshake that leads nowhere, and a stop in the middle of anything, end in time and leave nothing.
func TestStopAnywhere(t *testing.T) {
	for _, route := range []feishutest.Route{feishutest.Token, feishutest.BotInfo, feishutest.Endpoint, feishutest.Handshake, feishutest.List} {
		w := newWorld(t, feishutest.Options{})
		w.SetCursor(`{"chats":{"` + w.chat + `":{"last_ms":1}}}`)
		w.p.Inject(feishutest.Fault{Route: route, Delay: time.Minute})
		w.make()
		w.Begin(w.adapter.Serve)
		w.Until(string(route), func() bool { return route == feishutest.Handshake || len(w.p.Requests(route)) > 0 })
		began := time.Now()
		if w.Stop(); time.Since(began) > 2*time.Second {
			t.Errorf("%s: it takes %v", route, time.Since(began))
		}
		w.p.Close()
	}
}

// Neither secret nor token nor a key of the connection is ever told.
func TestSecretsAreNotTold(t *testing.T) {
	w := newWorld(t, feishutest.Options{})
	w.start()
	w.say("hello")
	w.Await(1)
	w.p.ExpireTokens()
	if _, err := w.send(channel.Outgoing{ClientID: "1", Chat: w.app.Owner, Text: "x"}); err != nil {
		t.Fatal(err)
	}
	w.p.Kick(w.app.ID)
	told := w.Ended().Error() + w.Logged() + strings.Join(w.Heard(), "\n")
	for _, secret := range []string{w.app.Secret, w.adapter.api.token, "ticket", "access_key"} {
		if secret == "" || strings.Contains(told, secret) {
			t.Errorf("%q is told: %s", secret, told)
		}
	}
}
