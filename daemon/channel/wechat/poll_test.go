package wechat

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"scv/daemon/channel"
	"scv/daemon/channel/wechat/wechattest"
)

// What counts as an answer to a poll, and what of it.
func TestReadUpdates(t *testing.T) {
	tooMany := `{"msgs":[` + strings.Repeat("{},", maxMessages) + `{}],"get_updates_buf":"new"}`
	for _, c := range []struct {
		status int
		text   string
		want   string // the cursor after it, "error" or "owner"
		n      int
	}{
		{200, `{"msgs":[],"get_updates_buf":"new"}`, "new", 0},
		{200, `{"msgs":[{},1],"get_updates_buf":"new","extra":[],"longpolling_timeout_ms":35000}`, "new", 2},
		{200, `{"msgs":[],"get_updates_buf":""}`, "old", 0},
		{200, `{"ret":0,"msgs":[{}],"get_updates_buf":""}`, "old", 1},
		{200, `{"ret":0}`, "old", 0},
		{200, `{"ret":0,"errcode":0,"msgs":[{}],"get_updates_buf":"new"}`, "new", 1},
		{200, strings.Replace(tooMany, "{},", "", 1), "new", maxMessages},
		{200, tooMany, "error", 0},
		{200, `{"errcode":-14}`, "owner", 0},
		{200, `{"ret":-14,"errmsg":"session timeout"}`, "owner", 0},
		{200, `{"ret":-1,"errcode":-14}`, "owner", 0},
		{401, `{"errcode":-14}`, "owner", 0},
		{200, `{"ret":0,"errcode":-14,"msgs":[{}],"get_updates_buf":"new"}`, "owner", 0},
		{200, `{"ret":-2,"msgs":[],"get_updates_buf":"new"}`, "error", 0},
		{200, `{"errcode":0,"msgs":[],"get_updates_buf":"new"}`, "error", 0},
		{200, `{"ret":"0","msgs":[],"get_updates_buf":"new"}`, "error", 0},
		{200, `{"ret":0,"msgs":{}}`, "error", 0},
		{200, `{"ret":0,"msgs":[],"get_updates_buf":7}`, "error", 0},
		{200, `{"msgs":[]}`, "error", 0},
		{200, `{"get_updates_buf":"new"}`, "error", 0},
		{200, ``, "error", 0},
		{200, `null`, "error", 0},
		{200, `[]`, "error", 0},
		{200, `<html>`, "error", 0},
		{200, `{"msgs":[],"get_updates_buf":"new"`, "error", 0},
		{302, `{"msgs":[],"get_updates_buf":"new"}`, "error", 0},
		{401, ``, "error", 0},
		{403, ``, "error", 0},
		{503, `{"msgs":[],"get_updates_buf":"new"}`, "error", 0},
	} {
		got, err := readUpdates(c.status, []byte(c.text), "old")
		shown := got.cursor
		switch {
		case needsOwner(err):
			shown = "owner"
		case err != nil:
			shown = "error"
		}
		if shown != c.want || len(got.messages) != c.n {
			t.Errorf("%d %.80s: %q with %d messages, %v", c.status, c.text, shown, len(got.messages), err)
		}
	}
}

// Whatever a poll meets, nothing of it is taken that is not whole, nothing is lost, and it goes on by itself.
func TestFaultyPolls(t *testing.T) {
	for name, fault := range map[string]wechattest.Fault{
		"overload":       {Status: 503, Times: 3},
		"a wrong token":  {Status: 401},
		"code":           {Ret: -1, Msg: "busy"},
		"no JSON":        {Body: "<html>"},
		"nothing":        {Empty: true},
		"cut":            {Cut: true},
		"half of it":     {Clip: true},
		"too many":       {Body: `{"get_updates_buf":"stolen","msgs":[` + strings.Repeat("{},", maxMessages) + `{}]}`},
		"too large":      {Body: `{"get_updates_buf":"stolen","msgs":["` + strings.Repeat("x", maxAnswer) + `"]}`},
		"another form":   {Set: map[string]any{"msgs": map[string]any{}}},
		"without cursor": {Set: map[string]any{"get_updates_buf": nil}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, wechattest.Options{})
			w.start()
			w.say("first")
			w.Await(1)
			fault.Route = wechattest.Updates
			w.p.Inject(fault)
			w.say("second")
			w.Hears("tried again by itself")
			if got := w.Await(2); got[1].Text != "second" {
				t.Errorf("got %+v", got)
			}
			w.Until("the acknowledgement", func() bool { return w.p.Acked(w.Taken()[1].ID) })
			w.Until("a fresh contact", func() bool { heard := w.Heard(); return heard[len(heard)-1] == "" })
			if strings.Contains(w.Logged(), w.bot.Token) {
				t.Error("the log has the token")
			}
			w.Stop()
		})
	}
}

// A failure that lasts is tried more and more seldom, and what the platform says is shown.
func TestPollsBackOff(t *testing.T) {
	w := newWorld(t, wechattest.Options{})
	w.p.Inject(wechattest.Fault{Route: wechattest.Updates, Status: 503, Times: -1})
	w.start()
	w.Hears("WeChat: the platform answered HTTP 503")
	w.Until("some polls", func() bool { return len(w.p.Requests(wechattest.Updates)) > 7 })
	polls := w.p.Requests(wechattest.Updates)
	if gap := polls[7].At.Sub(polls[6].At); gap < w.adapter.slow {
		t.Errorf("the eighth poll comes %v after the seventh", gap)
	}
	w.p.Heal()
	w.Until("a contact", func() bool { heard := w.Heard(); return heard[len(heard)-1] == "" })
	w.p.Inject(wechattest.Fault{Route: wechattest.Updates, Status: 502})
	w.p.Release()
	w.Until("one more failure", func() bool { return strings.Contains(w.Logged(), "HTTP 502") })
	_, again, _ := strings.Cut(w.Logged()[:strings.Index(w.Logged(), "HTTP 502")], "HTTP 503")
	again = again[strings.LastIndex(again, " in=")+len(" in="):]
	if again, _, _ = strings.Cut(again, " "); again != "5ms" && again != "6ms" {
		t.Errorf("after a success it is tried again in %s", again)
	}
	w.Stop()
}

// An answer that stops in its middle takes no longer than a poll may, and is not taken.
func TestAStalledAnswer(t *testing.T) {
	w := newWorld(t, wechattest.Options{})
	w.start(func(a *Adapter) { a.rhythm.poll, a.grace = 300*time.Millisecond, 0 })
	w.p.Inject(wechattest.Fault{Route: wechattest.Updates, Stall: true})
	w.say("hello")
	w.Hears("WeChat cannot be reached")
	if got := w.Await(1); got[0].Text != "hello" {
		t.Errorf("got %+v", got)
	}
	w.Stop()
}

// Polls that end by our own clock are no failure as long as the platform answers anything else.
func TestAPlatformThatHoldsForEver(t *testing.T) {
	w := newWorld(t, wechattest.Options{Hold: time.Hour})
	w.start(func(a *Adapter) { a.rhythm.poll = 50 * time.Millisecond })
	w.Until("some polls", func() bool { return len(w.p.Requests(wechattest.Updates)) > 5 })
	if heard := w.Heard(); slices.ContainsFunc(heard, func(c string) bool { return c != "" }) {
		t.Errorf("contacts %q", heard)
	}
	w.p.Expire(w.bot.ID)
	if _, final := errors.AsType[*channel.PermanentError](w.Ended()); !final {
		t.Errorf("a sign-in that ends meanwhile: %v", w.Ended())
	}
}

// A platform that answers nothing at all has failed at the second poll.
func TestAHangingPlatform(t *testing.T) {
	w := newWorld(t, wechattest.Options{Hold: time.Hour})
	w.start(func(a *Adapter) { a.rhythm.poll, a.probe, a.retry = 200*time.Millisecond, 100*time.Millisecond, limit })
	w.p.Inject(wechattest.Fault{Route: wechattest.Config, Delay: time.Hour, Times: -1})
	w.Hears("WeChat does not answer")
	if n := len(w.p.Requests(wechattest.Updates)); n != 2 {
		t.Errorf("that is said after %d polls", n)
	}
	w.Stop()
}

// A connection that died silently is found out, and another one is made.
func TestAHalfOpenConnection(t *testing.T) {
	w := newWorld(t, wechattest.Options{Hold: time.Hour})
	w.start(func(a *Adapter) { a.rhythm.poll, a.grace = 300*time.Millisecond, 0 })
	w.Until("a poll", func() bool { return w.p.Polls(w.bot.ID) == 1 })
	w.p.HalfOpen()
	w.say("hello")
	w.Await(1)
	w.Stop()
}

// A platform that holds polls longer than we would wait says so, and is listened to.
func TestALongerHold(t *testing.T) {
	w := newWorld(t, wechattest.Options{Hold: 300 * time.Millisecond})
	w.start(func(a *Adapter) { a.rhythm.poll = 200 * time.Millisecond })
	w.say("hello")
	w.Await(1)
	before := len(w.p.Requests(wechattest.Updates))
	w.Until("polls that ended by themselves", func() bool { return len(w.p.Requests(wechattest.Updates)) > before+2 })
	if heard := w.Heard(); slices.ContainsFunc(heard, func(c string) bool { return c != "" }) {
		t.Errorf("contacts %q", heard)
	}
	w.Stop()
}

// A sign-in that is over is not tried again, whoever finds out: the owner has to do something.
func TestTheSessionEnds(t *testing.T) {
	for name, end := range map[string]func(w *world){
		"at the start": func(w *world) { w.p.Expire(w.bot.ID); w.make(); w.Begin(w.adapter.Serve) },
		"while polling": func(w *world) {
			w.start()
			w.say("hello")
			w.Await(1)
			w.p.Expire(w.bot.ID)
		},
		"in an answer with messages": func(w *world) {
			w.start()
			w.p.Inject(wechattest.Fault{Route: wechattest.Updates, Set: map[string]any{"ret": -14, "errmsg": "session timeout"}, Times: -1})
			w.p.Release()
			w.say("not taken")
		},
		"while sending": func(w *world) {
			w.p.Inject(wechattest.Fault{Route: wechattest.Send, Code: -14})
			w.start()
			_, err := w.send(channel.Outgoing{ClientID: "1", Chat: w.bot.Owner, Kind: channel.Reply, Text: "hello"})
			if err == nil || errors.Is(err, channel.ErrRefused) {
				t.Errorf("the send: %v; it must wait for the sign-in", err)
			}
		},
	} {
		w := newWorld(t, wechattest.Options{})
		end(w)
		final, ok := errors.AsType[*channel.PermanentError](w.Ended())
		if !ok || final.Advice != "the sign-in is no longer valid: sign in again with scv channels login wechat (code -14)" {
			t.Errorf("%s: it ends with %v", name, w.Ended())
		}
		if slices.Contains(w.Texts(), "not taken") {
			t.Errorf("%s: it took messages", name)
		}
	}
	other := permanent(channel.Account{Channel: "wechat", Name: "home"}, &answer{code: -14, meaning: codes[-14]})
	if !strings.Contains(other.Error(), "scv channels login wechat --account home ") {
		t.Errorf("another account: %v", other)
	}
}

// Without an owner there is nobody to ask for at the start: the first poll tells.
func TestWithoutAnOwner(t *testing.T) {
	w := newWorld(t, wechattest.Options{})
	w.start(func(a *Adapter) { a.o.Account.OwnerID = "" })
	if n := len(w.p.Requests(wechattest.Config)); n != 0 {
		t.Errorf("%d questions", n)
	}
	w.Stop()
}

// Each message is taken once and in its place, also where an answer brings it twenty times, or the whole past.
func TestBatchesOfEveryShape(t *testing.T) {
	w := newWorld(t, wechattest.Options{Batch: 7})
	w.start()
	var want []string
	for i := range 30 {
		want = append(want, fmt.Sprint("m", i))
		if i%10 == 3 {
			w.p.Inject(
				wechattest.Fault{Route: wechattest.Updates, Copies: 19},
				wechattest.Fault{Route: wechattest.Updates, Again: true, Skip: 1},
			)
		}
		w.say(want[i])
	}
	w.Until("all of them", func() bool { return slices.Contains(w.Texts(), "m29") })
	if got := w.Texts(); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	w.p.Inject(wechattest.Fault{Route: wechattest.Updates, Reverse: true})
	w.p.Release()
	w.say("a")
	w.say("b")
	w.Await(32)
	w.Stop()
}

// The platform hears of nothing that is not kept, and a restart goes on from what was.
func TestTheCursorIsNeverAhead(t *testing.T) {
	w := newWorld(t, wechattest.Options{})
	w.start()
	w.say("first")
	w.Await(1)
	w.Fill(true)
	second := w.say("second")
	w.Until("a try to keep it", func() bool { return strings.Contains(w.Logged(), "cannot be kept") })
	w.Stop()
	if w.p.Acked(second) {
		t.Error("it is acknowledged though it is not kept")
	}
	w.Fill(false)
	w.say("third")
	w.start()
	if w.Await(3); !slices.Equal(w.Texts(), []string{"first", "second", "third"}) {
		t.Errorf("got %q", w.Texts())
	}
	w.Until("the acknowledgement", func() bool { return w.p.Acked(second) })
	w.Stop()
}

// A quiet account costs no commits, and a platform that holds no poll is not asked all the time.
func TestAQuietAccount(t *testing.T) {
	w := newWorld(t, wechattest.Options{Hold: time.Nanosecond})
	w.start(func(a *Adapter) { a.soonest = 20 * time.Millisecond })
	began := len(w.p.Requests(wechattest.Updates))
	w.Until("some polls", func() bool { return len(w.p.Requests(wechattest.Updates)) >= began+10 })
	polls := w.p.Requests(wechattest.Updates)
	if took := polls[began+9].At.Sub(polls[began].At); took < 150*time.Millisecond {
		t.Errorf("ten polls in %v", took)
	}
	if n := w.Commits(); n != 0 {
		t.Errorf("%d commits", n)
	}
}

// One that says nothing and gives another cursor each time is not asked all the time either: each would be a commit.
func TestACursorThatMovesByItself(t *testing.T) {
	w := newWorld(t, wechattest.Options{Hold: time.Nanosecond})
	for i := range 100 {
		cursor := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s %d", w.bot.ID, i+1))
		w.p.Inject(wechattest.Fault{Route: wechattest.Updates, Set: map[string]any{"get_updates_buf": cursor}})
	}
	w.start(func(a *Adapter) { a.soonest = 20 * time.Millisecond })
	w.Until("some polls", func() bool { return len(w.p.Requests(wechattest.Updates)) >= 10 })
	polls := w.p.Requests(wechattest.Updates)
	if took := polls[9].At.Sub(polls[0].At); took < 150*time.Millisecond {
		t.Errorf("ten polls in %v", took)
	}
	w.Stop()
}

// An account whose messages cannot be kept hears nothing, and says so until they can.
func TestWhatCannotBeKeptIsNoContact(t *testing.T) {
	w := newWorld(t, wechattest.Options{Hold: time.Hour})
	w.start()
	w.Fill(true)
	w.say("hello")
	w.Hears("its messages cannot be kept")
	w.Fill(false)
	w.Await(1)
	w.Until("a fresh contact", func() bool { heard := w.Heard(); return heard[len(heard)-1] == "" })
	w.Stop()
}
