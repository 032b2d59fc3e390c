package wechattest

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestPoll(t *testing.T) {
	p := New(t, Options{Hold: 20 * time.Millisecond, Batch: 2})
	c := newClient(t, p, p.Bot())
	idle := c.poll("")
	if idle.Ret != nil || idle.Code != 0 || len(idle.Msgs) != 0 || *idle.Cursor != "" {
		t.Errorf("idle: %s", idle.text)
	}
	first := p.Say(c.bot.ID, c.bot.Owner, "one")
	for _, text := range []string{"two", "three"} {
		p.Say(c.bot.ID, c.bot.Owner, text)
	}
	a := c.poll("")
	if got := a.texts(); !slices.Equal(got, []string{"one", "two"}) || !strings.Contains(a.text, `"message_id":`+first) {
		t.Errorf("got %s", a.text)
	}
	if again := c.poll(""); !slices.Equal(again.texts(), a.texts()) || p.Acked(first) {
		t.Errorf("what was not acknowledged comes as %s", again.text)
	}
	b := c.poll(*a.Cursor)
	if got := b.texts(); !slices.Equal(got, []string{"three"}) || !p.Acked(first) {
		t.Errorf("then %s", b.text)
	}
	if end := c.poll(*b.Cursor); len(end.Msgs) != 0 || *end.Cursor != *b.Cursor {
		t.Errorf("at the end %s", end.text)
	}
}

func TestPollIsHeld(t *testing.T) {
	p := New(t, Options{})
	c := newClient(t, p, p.Bot())
	got := make(chan *response)
	held := func() {
		go func() {
			r, _ := c.try("POST", "/ilink/bot/getupdates", "application/json", c.asking(object{"get_updates_buf": ""}))
			got <- r
		}()
	}
	held()
	c.await("a held poll", func() bool { return p.Polls(c.bot.ID) == 1 })
	p.Say(c.bot.ID, c.bot.Owner, "news")
	if r := <-got; !slices.Equal(r.texts(), []string{"news"}) || p.Polls(c.bot.ID) != 0 {
		t.Errorf("got %s", r.text)
	}
	other := p.AddBot(Bot{})
	c.bot = other
	held()
	c.await("a held poll", func() bool { return p.Polls(other.ID) == 1 })
	p.Release()
	if r := <-got; r == nil || len(r.Msgs) != 0 {
		t.Errorf("released: %+v", r)
	}
	held()
	c.await("a held poll", func() bool { return p.Polls(other.ID) == 1 })
	p.Expire(other.ID)
	if r := <-got; r.Code != expired {
		t.Errorf("expired while it was held: %s", r.text)
	}
	if r := c.poll(""); r.Code != expired {
		t.Errorf("expired: %s", r.text)
	}
	c.bot = p.Bot()
	held()
	<-got
	p.Down()
	if r, err := c.try("POST", "/ilink/bot/getupdates", "application/json", c.asking(object{"get_updates_buf": ""})); err == nil {
		t.Errorf("while it is down: %s", r.text)
	}
	p.Up()
	c.poll("")
}

func TestWhatAPollSays(t *testing.T) {
	p := New(t, Options{})
	bot := p.Bot()
	at := time.UnixMilli(1764400000123)
	for _, opts := range [][]Option{
		{ID("abc"), At(at)},
		{RawID("1e3"), With("context_token", nil)},
		{InGroup("g@chatroom"), FromBot()},
		{Quote("Ann", "earlier")},
		{QuoteID("4611686018427387999")},
		{Item(object{"type": 11, "tool_call_start_item": object{"tool_name": "x"}})},
	} {
		p.Say(bot.ID, bot.Owner, "text", opts...)
	}
	text := newClient(t, p, bot).poll("").text
	for _, want := range []string{
		`"message_id":"abc"`, `"create_time_ms":1764400000123`, `"message_id":1e3`, `"group_id":"g@chatroom"`, `"message_type":2`,
		`"ref_msg":{"message_item":{"text_item":{"text":"earlier"},"type":1},"title":"Ann"}`, `"ref_msg":{"svr_id":4611686018427387999}`,
		`"tool_call_start_item"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
	if n := strings.Count(text, "context_token"); n != 5 {
		t.Errorf("%d have a context_token", n)
	}
}

func TestFaultsOfAPoll(t *testing.T) {
	says := func(fault Fault, want string) {
		t.Helper()
		p := New(t, Options{})
		c := newClient(t, p, p.Bot())
		p.Say(c.bot.ID, c.bot.Owner, "one")
		p.Say(c.bot.ID, c.bot.Owner, "two")
		fault.Route = Updates
		p.Inject(fault)
		got := "no answer"
		if r, err := c.try("POST", "/ilink/bot/getupdates", "application/json", c.asking(object{"get_updates_buf": ""})); err == nil {
			got = strings.Join(r.texts(), " ")
			if got == "" {
				got = r.text
			}
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%+v: %s, not %s", fault, got, want)
		}
	}
	says(Fault{Copies: 1}, "one one two two")
	says(Fault{Reverse: true}, "two one")
	says(Fault{Code: expired}, `{"errcode":-14}`)
	says(Fault{Ret: expired, Msg: "session timeout"}, `{"errmsg":"session timeout","ret":-14}`)
	says(Fault{Body: `{"ret":0,"msgs":{}}`}, `{"ret":0,"msgs":{}}`)
	says(Fault{Status: 503}, "<html>")
	says(Fault{Cut: true}, "no answer")
	says(Fault{Clip: true}, "no answer")
	says(Fault{Skip: 1, Cut: true}, "one two")
	says(Fault{Bot: "another", Cut: true}, "one two")
	says(Fault{Set: object{"msgs": nil}}, `{"get_updates_buf":`)
	says(Fault{Set: object{"ret": 0}}, "one two")
	says(Fault{Delay: time.Millisecond}, "one two")
}

func TestAStalledAnswer(t *testing.T) {
	p := New(t, Options{})
	c := newClient(t, p, p.Bot())
	p.Say(c.bot.ID, c.bot.Owner, "one")
	p.Inject(Fault{Route: Updates, Stall: true})
	r, err := http.NewRequestWithContext(c.ctx, "POST", p.PlainURL()+"/ilink/bot/getupdates", strings.NewReader(encode(object{
		"get_updates_buf": "", "base_info": object{"channel_version": "1"},
	})))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{
		"Content-Type": {"application/json"}, "Authorization": {"Bearer " + c.bot.Token}, "Authorizationtype": {"ilink_bot_token"},
		"X-Wechat-Uin": {"MTIzNA=="},
	}
	got, err := c.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	half := make([]byte, got.ContentLength/2)
	if _, err := got.Body.Read(half); err != nil || !strings.HasPrefix(string(half), `{"get_updates_buf"`) {
		t.Errorf("half of it is %s, %v", half, err)
	}
	read := make(chan error, 1)
	go func() { _, err := got.Body.Read(make([]byte, 1)); read <- err }()
	p.Close()
	if err := <-read; err == nil {
		t.Error("the other half came")
	}
}

func TestPollsThatNoClientMakes(t *testing.T) {
	p, err := Start(Options{Hold: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	c := newClient(t, p, p.Bot())
	other := p.AddBot(Bot{})
	p.Say(other.ID, other.Owner, "hello")
	theirs := *newClient(t, p, other).poll("").Cursor
	for cursor, complaint := range map[string]string{
		"x": "no cursor", theirs: "no cursor", base64.StdEncoding.EncodeToString([]byte(c.bot.ID + " x")): "no cursor",
	} {
		before := len(p.Complaints())
		if r := c.poll(cursor); r.Ret == nil || *r.Ret == 0 {
			t.Errorf("%q: %s", cursor, r.text)
		}
		if got := p.Complaints()[before:]; len(got) != 1 || !strings.Contains(got[0], complaint) {
			t.Errorf("%q: %q", cursor, got)
		}
	}
	before := len(p.Complaints())
	c.do("POST", "/ilink/bot/getupdates", "text/plain", []byte(`{"get_updates_buf":""}`))
	c.get("/nowhere")
	if got := p.Complaints()[before:]; len(got) != 3 {
		t.Errorf("complaints %q", got)
	}
}
