package feishu

import (
	"errors"
	"strings"
	"testing"

	"scv/daemon/channel"
	"scv/daemon/channel/feishu/feishutest"
)

func TestWhereWordsGo(t *testing.T) {
	w := newWorld(t, feishutest.Options{})
	w.start()
	group := w.p.Group(w.app.ID)
	said := w.say("hello")
	called := w.p.Say(group, "ou_x", "hi", feishutest.Mention(w.app.BotID))
	inside := w.say("more", feishutest.InThread(said))
	w.Await(3)
	for _, out := range []channel.Outgoing{
		{ClientID: "1", Chat: w.app.Owner, Text: "<at user_id=\"all\">hi</at>", ReplyHandle: said},
		{ClientID: "2", Chat: w.app.Owner, Text: "two"},
		{ClientID: "3", Chat: group, Text: "three", ReplyHandle: called},
		{ClientID: "4", Chat: w.app.Owner, Text: "four", ReplyHandle: "thread:" + inside},
		{ClientID: strings.Repeat("5", 60), Chat: group, Text: "five"},
	} {
		receipt, err := w.send(out)
		if err != nil || receipt.MessageID == "" || receipt.At.IsZero() {
			t.Fatalf("%s: %+v, %v", out.ClientID, receipt, err)
		}
	}
	sent := w.p.Sent()
	if s := sent[0]; s.ReplyTo != said || len(s.Mentions) != 0 || s.UUID != "1" || s.InThread {
		t.Errorf("a reply is %+v", s)
	}
	if s := sent[1]; s.To != w.app.Owner || s.ToType != "open_id" || s.Chat != w.chat {
		t.Errorf("an unprompted message is %+v", s)
	}
	if s := sent[2]; s.ReplyTo != called || s.Chat != group {
		t.Errorf("a reply in a group is %+v", s)
	}
	if s := sent[3]; s.ReplyTo != inside || !s.InThread || s.Thread == "" {
		t.Errorf("a reply in a thread is %+v", s)
	}
	if s := sent[4]; s.To != group || s.ToType != "chat_id" || len(s.UUID) != 50 {
		t.Errorf("an unprompted message in a group is %+v", s)
	}
	w.Stop()
}

// What becomes of a part that the platform does not simply take.
func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		name    string
		fault   feishutest.Fault
		refused bool
		works   bool // at the first try
	}{
		{"token no longer good", feishutest.Fault{Code: 99991663, Status: 400}, false, true},
		{"not in the chat", feishutest.Fault{Code: 230002, Status: 400}, true, false},
		{"rate limit", feishutest.Fault{Code: 230020, Status: 400}, false, false},
		{"rate limit of HTTP", feishutest.Fault{Status: 429}, false, false},
		{"overload", feishutest.Fault{Status: 503}, false, false},
		{"taken, and the answer lost", feishutest.Fault{Cut: true, Late: true}, false, false},
		{"taken, and an error answered", feishutest.Fault{Status: 502, Late: true}, false, false},
		{"unknown code", feishutest.Fault{Code: 4711}, true, false},
		{"garbage", feishutest.Fault{Body: "<html>"}, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, feishutest.Options{})
			w.start()
			c.fault.Route = feishutest.Send
			w.p.Inject(c.fault)
			out := channel.Outgoing{ClientID: "1", Chat: w.app.Owner, Text: "hello", Last: true}
			_, err := w.send(out)
			if (err == nil) != c.works || errors.Is(err, channel.ErrRefused) != c.refused {
				t.Fatalf("the first try: %v", err)
			}
			if _, err := w.send(out); err != nil {
				t.Errorf("the second try: %v", err)
			}
			if sent := w.p.Sent(); len(sent) != 1 {
				t.Errorf("it was sent %d times", len(sent))
			}
			w.Stop()
		})
	}
}

// A send that does not get through casts doubt on the account, and the next sign of life removes it.
func TestASendInDoubt(t *testing.T) {
	w := newWorld(t, feishutest.Options{})
	w.start()
	pings := w.p.Pings(w.app.ID)
	w.p.Inject(feishutest.Fault{Route: feishutest.Send, Cut: true})
	if _, err := w.send(channel.Outgoing{ClientID: "1", Chat: w.app.Owner, Text: "hello"}); err == nil {
		t.Fatal("it got through")
	}
	w.Until("the doubt", func() bool {
		for _, c := range w.Heard() {
			if strings.Contains(c, "cannot be reached") {
				return true
			}
		}
		return false
	})
	w.Until("a ping", func() bool { return w.p.Pings(w.app.ID) > pings })
	w.Until("its end", func() bool { heard := w.Heard(); return heard[len(heard)-1] == "" })
	w.Stop()
}

// A message that needs the owner ends the account with what to do, and is no refusal: it waits.
func TestASendThatNeedsTheOwner(t *testing.T) {
	for name, spoil := range map[string]func(w *world){
		"scope": func(w *world) { w.p.Inject(feishutest.Fault{Route: feishutest.Send, Code: 99991672, Status: 400}) },
		"secret": func(w *world) {
			w.p.SetSecret(w.app.ID, "another")
			w.p.ExpireTokens()
		},
	} {
		w := newWorld(t, feishutest.Options{})
		w.start()
		spoil(w)
		_, err := w.send(channel.Outgoing{ClientID: "1", Chat: w.app.Owner, Text: "hello"})
		if err == nil || errors.Is(err, channel.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
		if final, ok := errors.AsType[*channel.PermanentError](w.Ended()); !ok || !strings.Contains(final.Advice, "scv ") {
			t.Errorf("%s: it ends with %v", name, final)
		}
		w.p.Close()
	}
}

// Where a thread cannot be replied to, the words go into its chat, once.
func TestWordsForAClosedThread(t *testing.T) {
	w := newWorld(t, feishutest.Options{})
	w.start()
	said := w.say("hello")
	inside := w.say("more", feishutest.InThread(said))
	w.Await(2)
	w.p.Inject(feishutest.Fault{Route: feishutest.Reply, Code: 230071, Status: 400, Times: 2})
	out := channel.Outgoing{ClientID: "1", Chat: w.app.Owner, Text: "hello", ReplyHandle: "thread:" + inside}
	for range 2 {
		if _, err := w.send(out); err != nil {
			t.Fatal(err)
		}
	}
	if sent := w.p.Sent(); len(sent) != 1 || sent[0].To != w.app.Owner || sent[0].Thread != "" {
		t.Errorf("sent %+v", sent)
	}
	w.Stop()
}
