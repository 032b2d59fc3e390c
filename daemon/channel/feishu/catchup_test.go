package feishu

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"scv/daemon/channel/feishu/feishutest"
)

// What was written in a thread that was begun while no connection stood is caught up on once, though the chat's
// list has only what the thread began with, and that is older than the checkpoint.
func TestNewThreadsAreCaughtUpOn(t *testing.T) {
	w := newWorld(t, feishutest.Options{})
	w.start()
	root := w.say("root", feishutest.At(time.Now().Add(-2*time.Hour)))
	w.say("later")
	w.Await(2)
	w.Stop()
	w.say("in a new thread", feishutest.InThread(root), feishutest.Unheard())
	w.start()
	w.Until("the thread", func() bool { return slices.Contains(w.Texts(), "in a new thread") })
	if m := w.Taken()[2]; m.Thread == "" || m.Root != "root" || !strings.HasPrefix(m.ReplyHandle, inThread) {
		t.Errorf("it is %+v", m)
	}
	w.Stop()
	before := len(w.p.Requests(feishutest.List))
	w.start()
	w.Stop()
	if n := len(w.p.Requests(feishutest.List)) - before; n != 2 { // the chat, and the thread that is known now
		t.Errorf("%d lists where nothing is new", n)
	}
	if got := w.Texts(); !slices.Equal(got, []string{"root", "later", "in a new thread"}) {
		t.Errorf("got %q", got)
	}
}

// In groups a new thread is heard only where it mentions the bot, as everything is. Other threads are forgotten, so
// that they push none out that are known.
func TestNewThreadsOfAGroup(t *testing.T) {
	w := newWorld(t, feishutest.Options{})
	w.start()
	group := w.p.Group(w.app.ID)
	hers := func(text string, opts ...feishutest.Option) string { return w.p.Say(group, "ou_x", text, opts...) }
	root := hers("root", feishutest.Mention(w.app.BotID))
	known := hers("known", feishutest.Mention(w.app.BotID), feishutest.InThread(root))
	w.Await(2)
	w.Stop()
	for i := range maxThreads + 1 {
		hers("not for the bot", feishutest.InThread(hers(fmt.Sprint("topic ", i))))
	}
	hers("for the bot", feishutest.Unheard(), feishutest.Mention(w.app.BotID), feishutest.InThread(hers("another topic")))
	w.start()
	w.Until("the new thread", func() bool { return slices.Contains(w.Texts(), "for the bot") })
	w.Stop()
	if !strings.Contains(w.Logged(), "threads=2") { // of all those the oldest are left
		t.Errorf("the log says nothing: %s", w.Logged())
	}
	got := w.Taken()
	if len(got) != 3 || got[1].ID != known {
		t.Fatalf("got %q", w.Texts())
	}
	c, err := parseCheckpoint(w.Cursor())
	if _, first := c.Threads[got[1].Thread]; err != nil || !first || c.Threads[got[2].Thread].Chat != group || len(c.Threads) != 2 {
		t.Errorf("the checkpoint is %s, %v", w.Cursor(), err)
	}
}

// A thread that the checkpoint has forgotten brings nothing again that is older than what was taken in its chat.
func TestForgottenThreadsStayAnswered(t *testing.T) {
	w := newWorld(t, feishutest.Options{})
	at := time.Now().Add(-time.Hour)
	root := w.say("root", feishutest.At(at), feishutest.Unheard())
	for i := range 3 {
		w.say("answered long ago", feishutest.At(at.Add(time.Duration(i)*time.Minute)), feishutest.InThread(root), feishutest.Unheard())
	}
	w.start()
	w.say("later")
	w.Await(1)
	w.Stop()
	w.start()
	w.say("last")
	w.Await(2)
	w.Stop()
	if got := w.Texts(); !slices.Equal(got, []string{"later", "last"}) || strings.Contains(w.Cursor(), "omt_") {
		t.Errorf("got %q; the checkpoint is %s", got, w.Cursor())
	}
}

// Much that was written in one thread is taken in order and whole, though the platform lists it from its end.
func TestMuchInOneThread(t *testing.T) {
	for name, before := range map[string]bool{"known": true, "new": false} {
		w := newWorld(t, feishutest.Options{})
		w.start()
		root := w.say("root")
		w.Await(1)
		want := []string{"root"}
		if before {
			w.say("first", feishutest.InThread(root))
			w.Await(2)
			want = append(want, "first")
		}
		w.Stop()
		for i := range 2*lookPages*pageSize + 5 { // more than two looks take
			want = append(want, fmt.Sprint("m", i))
			w.say(want[len(want)-1], feishutest.InThread(root), feishutest.Unheard()) // no push comes again
		}
		w.start()
		w.Await(len(want))
		if got := w.Texts(); !slices.Equal(got, want) {
			t.Errorf("%s: %d of %d messages, or in another order, which ends with %q", name, len(got), len(want), got[len(got)-9:])
		}
		w.Stop()
		w.p.Close()
	}
}

// A list that never ends, whether it has nothing or only what is old, ends after so many pages all the same.
func TestListsWithoutEnd(t *testing.T) {
	old := map[string]any{"message_id": "om_old", "msg_type": "text", "create_time": "1000", "body": map[string]any{"content": `{"text":"old"}`}}
	for name, items := range map[string][]any{"empty": {}, "old": {old}} {
		w := newWorld(t, feishutest.Options{})
		w.start()
		w.say("first")
		w.Await(1)
		w.Stop()
		before := len(w.p.Requests(feishutest.List))
		for i := range 4 * mostPages { // and each page names another one
			body, err := json.Marshal(map[string]any{"code": 0, "data": map[string]any{
				"has_more": true, "page_token": fmt.Sprint("page-", i), "items": items,
			}})
			if err != nil {
				t.Fatal(err)
			}
			w.p.Inject(feishutest.Fault{Route: feishutest.List, Body: string(body)})
		}
		w.start()
		if n := len(w.p.Requests(feishutest.List)) - before; n > mostPages+lookPages {
			t.Errorf("%s: %d pages were read", name, n)
		}
		w.say("second")
		w.Until(name, func() bool { return slices.Contains(w.Texts(), "second") })
		if n := len(items); n == 0 && !strings.Contains(w.Logged(), "more pages than are read") {
			t.Errorf("%s: the log says nothing: %s", name, w.Logged())
		}
		w.Stop()
		w.p.Close()
	}
}
