package wechat

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"scv/daemon/channel"
	"scv/daemon/channel/wechat/wechattest"
)

// One send for each token: the first part of the one answer has it, and nothing else that is said.
func TestWhatSpendsTheToken(t *testing.T) {
	w := newWorld(t, wechattest.Options{})
	w.start()
	w.say("hello")
	m := w.Await(1)[0]
	first := w.answer("r-0", m, strings.Repeat("1", maxText))
	first.Last = false
	second := w.answer("r-1", m, "2")
	second.First = false
	line := w.answer("n-0", m, "a line")
	line.InReplyTo, line.Kind = "", channel.Notice
	report := channel.Outgoing{ClientID: "j-0", Chat: m.Chat, Kind: channel.Notice, Text: "a report", First: true, Last: true}
	for _, out := range []channel.Outgoing{line, first, second, report} {
		if r, err := w.send(out); err != nil || r.MessageID == "" {
			t.Fatalf("%s: %+v, %v", out.ClientID, r, err)
		}
	}
	progress := w.answer("p-0", m, "working")
	progress.Kind, progress.InReplyTo = channel.Progress, ""
	if _, err := w.send(progress); !errors.Is(err, channel.ErrRefused) {
		t.Errorf("a line of progress: %v", err)
	}
	sent := w.p.Sent()
	if len(sent) != 4 || slices.ContainsFunc(sent, func(s wechattest.Sent) bool { return s.Dropped }) {
		t.Fatalf("sent %+v", sent)
	}
	for i, want := range []string{"", m.ReplyHandle, "", ""} {
		if sent[i].Token != want || sent[i].To != w.bot.Owner {
			t.Errorf("%s: to %s with the token %q", sent[i].ClientID, sent[i].To, sent[i].Token)
		}
	}
	if sent[0].Text != "```\nsystem msg: a line\n```" || sent[2].Text != "2" {
		t.Errorf("sent %+v", sent)
	}
	for _, r := range w.p.Requests(wechattest.Send) {
		if strings.Contains(r.Body, `"context_token":""`) {
			t.Error("a token that is empty instead of none")
		}
	}
	w.Stop()
}

// Who answers in a group answers whoever wrote there, and goes on in the group.
func TestWordsForAGroup(t *testing.T) {
	w := newWorld(t, wechattest.Options{})
	w.start()
	w.p.Say(w.bot.ID, "someone", "hi", wechattest.InGroup("g"))
	m := w.Await(1)[0]
	rest := w.answer("r-1", m, "rest")
	rest.First = false
	for _, out := range []channel.Outgoing{w.answer("r-0", m, "first"), rest} {
		if _, err := w.send(out); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.p.Shown(w.bot.ID, "g"); !slices.Equal(got, []string{"first", "rest"}) {
		t.Errorf("the group sees %q", got)
	}
	w.Stop()
}

// What becomes of a part that the platform does not simply take.
func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault wechattest.Fault
		want  string // taken, again, refused
	}{
		{"an object without anything", wechattest.Fault{Body: "{}", Late: true}, "taken"},
		{"nothing", wechattest.Fault{Empty: true, Late: true}, "taken"},
		{"no JSON", wechattest.Fault{Body: "ok", Late: true}, "taken"},
		{"a list", wechattest.Fault{Body: "[]", Late: true}, "taken"},
		{"null", wechattest.Fault{Body: `{"ret":null,"errcode":null}`, Late: true}, "taken"},
		{"zero", wechattest.Fault{Body: `{"ret":0}`, Late: true}, "taken"},
		{"zero as a text", wechattest.Fault{Body: `{"ret":"0"}`}, "refused"},
		{"a refusal", wechattest.Fault{Ret: -2, Msg: "prepare failed"}, "refused"},
		{"an errcode alone", wechattest.Fault{Code: 40001}, "refused"},
		{"a bad request", wechattest.Fault{Status: 400}, "refused"},
		{"no such thing", wechattest.Fault{Status: 404}, "refused"},
		{"unauthorized", wechattest.Fault{Status: 401}, "again"},
		{"slow", wechattest.Fault{Status: 408}, "again"},
		{"too many", wechattest.Fault{Status: 429}, "again"},
		{"elsewhere", wechattest.Fault{Status: 302, Header: map[string][]string{"Location": {"https://evil.qq.com/"}}}, "again"},
		{"overload", wechattest.Fault{Status: 503}, "again"},
		{"overload with a code", wechattest.Fault{Status: 500, Body: `{"ret":-2}`}, "again"},
		{"the session", wechattest.Fault{Ret: -14}, "again"},
		{"cut", wechattest.Fault{Cut: true}, "again"},
		{"taken, and the answer lost", wechattest.Fault{Cut: true, Late: true}, "again"},
		{"taken, and half an answer", wechattest.Fault{Clip: true}, "again"},
		{"taken, and an error answered", wechattest.Fault{Status: 502, Late: true}, "again"},
	} {
		t.Run(c.name, func(t *testing.T) { tryTwice(t, c.fault, c.want) })
	}
}

// tryTwice sends a part that meets a fault, and then again: in the end it is shown once.
func tryTwice(t *testing.T, fault wechattest.Fault, want string) {
	w := newWorld(t, wechattest.Options{})
	w.make() // nothing serves: what a send finds out is its own
	fault.Route = wechattest.Send
	w.p.Inject(fault)
	out := w.answer("1", channel.Message{ID: w.say("hello"), Chat: w.bot.Owner}, "hello")
	_, err := w.send(out)
	got := "again"
	switch {
	case err == nil:
		got = "taken"
	case errors.Is(err, channel.ErrRefused):
		got = "refused"
	}
	if got != want {
		t.Fatalf("the first try is %s: %v", got, err)
	}
	if strings.Contains(w.Logged(), w.bot.Token) || err != nil && strings.Contains(err.Error(), w.bot.Token) {
		t.Error("the token is shown")
	}
	if _, err := w.send(out); err != nil {
		t.Errorf("the second try: %v", err)
	}
	if shown := w.p.Shown(w.bot.ID, w.bot.Owner); !slices.Equal(shown, []string{"hello"}) {
		t.Errorf("shown %q", shown)
	}
	if slices.Contains(w.p.Dialed(), "evil.qq.com") {
		t.Error("it went where an answer said")
	}
	doubted := slices.ContainsFunc(w.Heard(), func(c string) bool { return strings.Contains(c, "tried again") })
	if doubted != (want == "again" && fault.Ret != -14) {
		t.Errorf("contacts %q", w.Heard())
	}
}

// A retry carries the same token under the same name: the answer to the first try was lost, not the message.
func TestARetryCarriesTheTokenAgain(t *testing.T) {
	w := newWorld(t, wechattest.Options{})
	w.start()
	w.say("hello")
	out := w.answer("r-0", w.Await(1)[0], "answer")
	w.p.Inject(wechattest.Fault{Route: wechattest.Send, Status: 503, Late: true}, wechattest.Fault{Route: wechattest.Send, Cut: true})
	for try := range 3 {
		if _, err := w.send(out); (err == nil) != (try == 2) {
			t.Fatalf("try %d: %v", try, err)
		}
	}
	sent := w.p.Sent()
	if len(sent) != 1 || sent[0].Token != out.ReplyHandle || sent[0].Repeats != 1 || sent[0].Dropped {
		t.Errorf("sent %+v", sent)
	}
	w.Stop()
}

// A refusal is logged by its code. The platform's words are not: they may quote the token, or the message.
func TestRefusalsAreLogged(t *testing.T) {
	w := newWorld(t, wechattest.Options{})
	w.make()
	w.p.Inject(wechattest.Fault{Route: wechattest.Send, Ret: -2, Msg: "prepare failed for " + w.bot.Token + strings.Repeat("x", 500)})
	_, err := w.send(channel.Outgoing{ClientID: "1", Chat: w.bot.Owner, Kind: channel.Reply, Text: "hello"})
	if !errors.Is(err, channel.ErrRefused) || strings.Contains(err.Error(), "prepare") {
		t.Errorf("it is refused with %v", err)
	}
	if log := w.Logged(); !strings.Contains(log, "code=-2") || strings.Contains(log, "prepare failed") || strings.Contains(log, w.bot.Token) {
		t.Errorf("log: %s", log)
	}
}

func TestWhatIsNoText(t *testing.T) {
	w := newWorld(t, wechattest.Options{})
	w.make()
	if _, err := w.send(channel.Outgoing{ClientID: "1", Chat: w.bot.Owner, Kind: channel.Reply, Text: "a\xff"}); !errors.Is(err, channel.ErrRefused) {
		t.Errorf("it is %v", err)
	}
	if n := len(w.p.Requests(wechattest.Send)); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// The live platform need not name what it took.
func TestAnAcceptanceWithoutAnID(t *testing.T) {
	w := newWorld(t, wechattest.Options{Silent: true})
	w.make()
	r, err := w.send(channel.Outgoing{ClientID: "1", Chat: w.bot.Owner, Kind: channel.Reply, Text: "hello"})
	if err != nil || r != (channel.Receipt{}) {
		t.Errorf("%+v, %v", r, err)
	}
}

// When a message was taken, the platform tells in whole seconds only; where our clock is right, it knows better.
func TestWhenAMessageWasTaken(t *testing.T) {
	w := newWorld(t, wechattest.Options{})
	w.make()
	for i, skew := range []time.Duration{0, time.Hour, -time.Hour} {
		w.p.Skew(skew)
		before := w.p.Now()
		r, err := w.send(channel.Outgoing{ClientID: strconv.Itoa(i), Chat: w.bot.Owner, Kind: channel.Reply, Text: "hello"})
		if late := r.At.Sub(before); err != nil || (skew == 0) != r.At.IsZero() || skew != 0 && (late <= 0 || late > 2*time.Second) {
			t.Errorf("skew %v: taken at %v, %v after it was sent; %v", skew, r.At, late, err)
		}
	}
}

// A clock that was once seen to be behind the platform's, by however little, says no times any more.
func TestAClockThatIsBehind(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	date := at.Format(http.TimeFormat)
	var a api
	for _, c := range []struct{ ours, want time.Time }{
		{at.Add(100 * time.Millisecond), time.Time{}},
		{at.Add(1900 * time.Millisecond), time.Time{}},
		{at.Add(3 * time.Second), at.Add(time.Second)},
		{at.Add(-time.Millisecond), at.Add(time.Second)},
		{at.Add(100 * time.Millisecond), at.Add(time.Second)},
	} {
		if got := a.dated(date, c.ours); !got.Equal(c.want) {
			t.Errorf("at %v: %v, want %v", c.ours, got, c.want)
		}
	}
}
