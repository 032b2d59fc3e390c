package daemon

import (
	"strings"
	"testing"

	"scv/daemon/channel/wechat/wechattest"
	"scv/wire"
)

// A long answer goes in parts, of which one alone spends the message's token, and a question goes unprompted, marked
// as the program's own words.
func TestTokensOfWeChat(t *testing.T) {
	m := newInWeChat(t)
	k := newTalk(t, m)
	k.set(t, wire.ToolsOwner, wire.SendersOwner)
	long := k.says(t, line{text: strings.Repeat("many words ", 2000) + "and an end"})
	if last := k.sees(t, "and an end"); last.replyTo != "" {
		t.Errorf("the last part of a long answer spends a token: %+v", last)
	}
	spent := 0
	for _, h := range k.m.heard(t, k) {
		if h.replyTo == long {
			spent++
		}
	}
	if spent != 1 {
		t.Errorf("the long answer is %d times on its token", spent)
	}
	k.asks(t, "Deploy?")
	if q := k.sees(t, "Deploy?"); q.replyTo != "" || !strings.HasPrefix(q.text, "```") {
		t.Errorf("the question is %+v", q)
	}
}

// WeChat may give a quote as text alone: nobody knows then what a bare yes is about, and only a code answers. Spoken
// words are no answer either, however WeChat has written them down.
func TestAnswersThatWeChatDoesNotVouchFor(t *testing.T) {
	m := newInWeChat(t)
	k := newTalk(t, m)
	q := k.asks(t, "Deploy?")
	for what, opts := range map[string][]wechattest.Option{
		"a quote as text": {wechattest.Quote("", q.Question)},
		"spoken words":    {wechattest.Voice([]byte("silk"), "yes")},
		"no time":         {wechattest.With("create_time_ms", nil)},
	} {
		words := "yes"
		if what == "spoken words" {
			words = ""
		}
		id := m.p.Say(m.b.ID, m.b.Owner, words, opts...)
		await(t, "it is taken", func() bool { return m.taken(id) }, func() string { return what })
		k.stillWaits(t, q.ID, what)
	}
	id := m.p.Say(m.b.ID, m.b.Owner, "yes "+q.Code, wechattest.Quote("", q.Question))
	if r := k.ends(t, q.ID, wire.Yes, "Going ahead").Receipt; r == nil || r.MessageID != id {
		t.Errorf("the receipt is %+v", r)
	}
}

// Spoken words that WeChat did not write down are answered at once, without an agent.
func TestUnheardVoice(t *testing.T) {
	m := newInWeChat(t)
	k := newTalk(t, m)
	k.set(t, wire.ToolsOwner, wire.SendersOwner)
	id := m.p.Say(m.b.ID, m.b.Owner, "", wechattest.Voice([]byte("silk"), ""))
	if h := k.sees(t, "type"); h.replyTo != id || !strings.HasPrefix(h.text, "```\nsystem msg: ") {
		t.Errorf("it is answered by %+v", h)
	}
	if n := len(m.p.Requests(wechattest.Download)); n != 0 {
		t.Errorf("it was fetched %d times", n)
	}
}
