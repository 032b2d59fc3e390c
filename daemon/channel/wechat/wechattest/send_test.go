package wechattest

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// said is what somebody wrote, and the token that came with it.
func (c *client) said(text string, opts ...Option) (id, tok string) {
	c.t.Helper()
	id = c.p.Say(c.bot.ID, c.bot.Owner, text, opts...)
	msgs := c.poll("").Msgs
	return id, token(msgs[len(msgs)-1])
}

func TestSend(t *testing.T) {
	p := New(t, Options{})
	c := newClient(t, p, p.Bot())
	id, tok := c.said("hello")
	first := c.send(c.bot.Owner, "c1", tok, "answer")
	if n, err := strconv.ParseUint(string(first.ID), 10, 64); err != nil || n < firstID || first.Ret != nil {
		t.Errorf("answered %s", first.text)
	}
	if again := c.send(c.bot.Owner, "c1", tok, "answer"); string(again.ID) != string(first.ID) {
		t.Errorf("the same again: %s", again.text)
	}
	// A second message on a token looks like a success.
	if second := c.send(c.bot.Owner, "c2", tok, "more"); second.Ret != nil || string(second.ID) == string(first.ID) {
		t.Errorf("a second one: %s", second.text)
	}
	c.send(c.bot.Owner, "c3", "", "unprompted")
	if got := p.Shown(c.bot.ID, c.bot.Owner); !slices.Equal(got, []string{"answer", "unprompted"}) {
		t.Errorf("shown %q", got)
	}
	sent := p.Sent()
	if len(sent) != 3 || sent[0].ReplyTo != id || sent[0].Repeats != 1 || !sent[1].Dropped || sent[2].Token != "" {
		t.Errorf("sent %+v", sent)
	}
}

func TestSendToAGroup(t *testing.T) {
	p := New(t, Options{})
	c := newClient(t, p, p.Bot())
	_, tok := c.said("hello", InGroup("g@chatroom"))
	c.send(c.bot.Owner, "c1", tok, "by the writer")
	c.send("g@chatroom", "c2", "", "by the group")
	if got := p.Shown(c.bot.ID, "g@chatroom"); !slices.Equal(got, []string{"by the writer", "by the group"}) {
		t.Errorf("shown %q", got)
	}
	if got := p.Shown(c.bot.ID, c.bot.Owner); len(got) != 0 {
		t.Errorf("the writer alone is shown %q", got)
	}
}

// What was refused on a token stays so, also when the platform had taken the message before.
func TestARefusalIsForGood(t *testing.T) {
	p := New(t, Options{})
	c := newClient(t, p, p.Bot())
	_, tok := c.said("hello")
	p.Inject(Fault{Route: Send, Ret: -2, Msg: "prepare failed"})
	for range 2 {
		if r := c.send(c.bot.Owner, "c1", tok, "answer"); r.Ret == nil || *r.Ret != -2 || r.status != 200 {
			t.Errorf("answered %s", r.text)
		}
	}
	if r := c.send(c.bot.Owner, "c2", "", "answer"); r.Ret != nil {
		t.Errorf("without the token: %s", r.text)
	}
	if r := c.send("stranger@im.wechat", "c3", "", "hello"); r.Ret == nil || *r.Ret != -2 {
		t.Errorf("to a stranger: %s", r.text)
	}
}

func TestFaultsOfASend(t *testing.T) {
	for _, test := range []struct {
		fault  Fault
		status int // 0 is no answer
		text   string
		shown  int
	}{
		{Fault{Status: 503}, 503, "<html>", 0},
		{Fault{Status: 400}, 400, "", 0},
		{Fault{Cut: true}, 0, "", 0},
		{Fault{Cut: true, Late: true}, 0, "", 1},
		{Fault{Status: 503, Late: true}, 503, "<html>", 1},
		{Fault{Empty: true, Late: true}, 200, "", 1},
		{Fault{Body: "{}", Late: true}, 200, "{}", 1},
		{Fault{Set: object{"message_id": nil, "ret": "0"}}, 200, `{"ret":"0"}`, 1},
		{Fault{Ret: expired}, 200, `{"ret":-14}`, 0},
	} {
		p := New(t, Options{})
		c := newClient(t, p, p.Bot())
		test.fault.Route = Send
		p.Inject(test.fault)
		r, err := c.try("POST", "/ilink/bot/sendmessage", "application/json", c.asking(c.text(c.bot.Owner, "c1", "", "hello")))
		switch {
		case test.status == 0:
			if err == nil {
				t.Errorf("%+v: %s", test.fault, r.text)
			}
		case err != nil || r.status != test.status || !strings.HasPrefix(r.text, test.text):
			t.Errorf("%+v: %+v, %v", test.fault, r, err)
		}
		if got := p.Shown(c.bot.ID, c.bot.Owner); len(got) != test.shown {
			t.Errorf("%+v: shown %q", test.fault, got)
		}
		p.Heal()
		c.send(c.bot.Owner, "c1", "", "hello")
		if got := p.Shown(c.bot.ID, c.bot.Owner); len(got) != 1 {
			t.Errorf("%+v, and again: shown %q", test.fault, got)
		}
	}
}

func TestAPlatformThatForgets(t *testing.T) {
	p := New(t, Options{Forgets: true, Silent: true})
	c := newClient(t, p, p.Bot())
	for range 2 {
		if r := c.send(c.bot.Owner, "c1", "", "hello"); r.text != "{}" {
			t.Errorf("answered %s", r.text)
		}
	}
	if got := p.Shown(c.bot.ID, c.bot.Owner); len(got) != 2 {
		t.Errorf("shown %q", got)
	}
}

func TestMessagesThatNoClientSends(t *testing.T) {
	p, err := Start(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	c := newClient(t, p, p.Bot())
	_, theirs := newClient(t, p, p.AddBot(Bot{})).said("hello")
	item := object{"type": 1, "text_item": object{"text": "x"}}
	for name, body := range map[string]object{
		"no client id":         c.text(c.bot.Owner, "", "", "x"),
		"an empty token":       {"msg": object{"from_user_id": "", "to_user_id": "u", "client_id": "c", "message_type": 2, "message_state": 2, "context_token": "", "item_list": []object{item}}},
		"two items":            {"msg": object{"from_user_id": "", "to_user_id": "u", "client_id": "c", "message_type": 2, "message_state": 2, "item_list": []object{item, item}}},
		"another bot's token":  c.text(c.bot.Owner, "c", theirs, "x"),
		"an empty text":        c.text(c.bot.Owner, "c", "", ""),
		"a long text":          c.text(c.bot.Owner, "c", "", strings.Repeat("x", maxText+1)),
		"an unknown kind":      c.item(c.bot.Owner, "c", "", object{"type": 9}),
		"a file nobody stored": c.item(c.bot.Owner, "c", "", object{"type": 4, "file_item": object{"media": object{"encrypt_query_param": "x"}}}),
	} {
		before := len(p.Complaints())
		if r := c.post("sendmessage", body); r.Ret == nil || *r.Ret == 0 {
			t.Errorf("%s: %s", name, r.text)
		}
		if len(p.Complaints()) != before+1 {
			t.Errorf("%s: complaints %q", name, p.Complaints()[before:])
		}
	}
	if got := p.Sent(); len(got) != 0 {
		t.Errorf("sent %+v", got)
	}
}

func TestTyping(t *testing.T) {
	p := New(t, Options{})
	c := newClient(t, p, p.Bot())
	ticket := c.post("getconfig", object{"ilink_user_id": c.bot.Owner}).field("typing_ticket")
	for _, status := range []int{1, 2} {
		if r := c.post("sendtyping", object{"ilink_user_id": c.bot.Owner, "typing_ticket": ticket, "status": status}); r.Ret == nil || *r.Ret != 0 {
			t.Errorf("answered %s", r.text)
		}
	}
	if got := p.Typings(); len(got) != 2 || got[0].Ends || !got[1].Ends || got[0].User != c.bot.Owner {
		t.Errorf("typings %+v", got)
	}
	c.post("msg/notifystart", object{})
	if p.Running(c.bot.ID) != 1 {
		t.Error("it does not run")
	}
	c.post("msg/notifystop", object{})
	if p.Running(c.bot.ID) != 0 {
		t.Error("it still runs")
	}
}
