package feishu

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"scv/daemon/channel/feishu/feishutest"
)

// Every place that is known is looked at, those that were not used for long too: what was missed there would be lost
// with the next message. Each costs one list where nothing is new.
func TestAllKnownPlacesAreLookedAt(t *testing.T) {
	w := newWorld(t, feishutest.Options{})
	w.start()
	var groups, roots []string
	for i := range maxChats - 1 {
		groups = append(groups, w.p.Group(w.app.ID))
		w.p.Say(groups[i], "ou_x", "hi", feishutest.Mention(w.app.BotID))
	}
	for i := range maxThreads {
		roots = append(roots, w.say(fmt.Sprint("root ", i)))
		w.say("hi", feishutest.InThread(roots[i]))
	}
	w.Await(len(groups) + 2*len(roots))
	w.Stop()
	w.p.Say(groups[0], "ou_x", "missed in a group", feishutest.Mention(w.app.BotID))
	w.say("missed in a thread", feishutest.InThread(roots[0]))
	for range 2 {
		before := len(w.p.Requests(feishutest.List))
		w.start()
		w.Stop()
		if n := len(w.p.Requests(feishutest.List)) - before; n != maxChats+maxThreads+1 { // the owner's chat has two pages
			t.Errorf("%d lists", n)
		}
	}
	for _, missed := range []string{"missed in a group", "missed in a thread"} {
		if !slices.Contains(w.Texts(), missed) {
			t.Errorf("it was %s", missed)
		}
	}
}

// A thread below an old message is caught up on, at once where that message is among the latest of its chat, else
// before the next message of the thread.
func TestThreadsBelowOldMessages(t *testing.T) {
	for name, later := range map[string]int{"among the latest": 9, "further back": pageSize} {
		w := newWorld(t, feishutest.Options{})
		old := time.Now().Add(-lookBack - time.Hour)
		root := w.say("root", feishutest.At(old))
		for range later {
			w.say("old", feishutest.At(old.Add(time.Minute)))
		}
		w.start()
		w.say("later", feishutest.At(time.Now().Add(-2*time.Hour)))
		w.Await(1)
		w.Stop()
		w.say("missed", feishutest.InThread(root), feishutest.At(time.Now().Add(-time.Hour)))
		w.start()
		if later < pageSize {
			w.Await(2)
		}
		w.say("next", feishutest.InThread(root))
		w.Await(3)
		if got := w.Texts(); !slices.Equal(got, []string{"later", "missed", "next"}) {
			t.Errorf("%s: got %q", name, got)
		}
		w.Stop()
		w.p.Close()
	}
}

// Where much was missed in a chat, the threads that began early in it are caught up on too.
func TestThreadsAmongMuch(t *testing.T) {
	w := newWorld(t, feishutest.Options{})
	w.start()
	w.say("first", feishutest.At(time.Now().Add(-2*time.Hour)))
	w.Await(1)
	w.Stop()
	at := time.Now().Add(-time.Hour)
	root := w.say("root", feishutest.At(at))
	for range lookPages * pageSize {
		w.say("much", feishutest.At(at.Add(time.Minute)))
	}
	w.say("in the thread", feishutest.InThread(root))
	w.start()
	w.Until("the thread", func() bool { return slices.Contains(w.Texts(), "in the thread") })
	w.Stop()
}

// A record that cannot be read hides no other.
func TestOddRecords(t *testing.T) {
	for _, odd := range []string{
		`7`, `null`, `{"message_id":7}`, `{"message_id":"om_odd","create_time":1700000000000}`, `{"message_id":"om_odd"}`,
		`{"message_id":"om_odd","mentions":[{"id":{"open_id":"ou_x"}}]}`,
	} {
		w := newWorld(t, feishutest.Options{})
		w.start()
		w.say("first")
		w.Await(1)
		w.Stop()
		good := fmt.Sprintf(`{"message_id":"om_good","msg_type":"text","create_time":"%d","body":{"content":"{\"text\":\"good\"}"},`+
			`"sender":{"id":%q,"id_type":"open_id","sender_type":"user"}}`, time.Now().UnixMilli(), w.app.Owner)
		w.p.Inject(feishutest.Fault{Route: feishutest.List, Times: -1, Body: `{"code":0,"data":{"items":[` + odd + `,` + good + `]}}`})
		w.start()
		if w.Stop(); !slices.Contains(w.Texts(), "good") || !strings.Contains(w.Logged(), "cannot be read") {
			t.Errorf("%s: got %q; log: %s", odd, w.Texts(), w.Logged())
		}
		w.p.Close()
	}
}

// A platform that wants fewer requests at once, or fails now and then, is caught up on all the same: not all of it
// begins anew each time.
func TestCatchUpAgainstLimits(t *testing.T) {
	for _, fault := range []feishutest.Fault{{Status: 400, Code: 99991400}, {Status: 429}, {Status: 502}, {Cut: true}} {
		w := newWorld(t, feishutest.Options{})
		w.start()
		var groups []string
		for i := range 20 {
			groups = append(groups, w.p.Group(w.app.ID))
			w.p.Say(groups[i], "ou_x", "hi", feishutest.Mention(w.app.BotID))
		}
		w.Await(len(groups))
		w.Stop()
		for _, group := range groups {
			w.p.Say(group, "ou_x", "missed", feishutest.Mention(w.app.BotID))
		}
		fault.Route = feishutest.List
		for fault.Skip = 5; fault.Skip < 100; fault.Skip += 5 {
			w.p.Inject(fault)
		}
		w.make()
		w.adapter.rhythm = rhythm{unit: time.Millisecond, slack: limit}
		w.Begin(w.adapter.Serve)
		w.Await(2 * len(groups))
		w.Stop()
		w.p.Close()
	}
}

// A look that fails once, while the connection is alive, is an outage for no longer than it takes to ask for a sign of
// life.
func TestALookThatFailsIsNoOutage(t *testing.T) {
	w := newWorld(t, feishutest.Options{})
	w.start()
	root := w.say("root")
	w.Await(1)
	w.Stop()
	w.start()
	w.p.Inject(feishutest.Fault{Route: feishutest.List, Status: 503})
	w.say("in a new thread", feishutest.InThread(root))
	w.Hears("HTTP 503")
	w.Until("a contact", func() bool { heard := w.Heard(); return heard[len(heard)-1] == "" })
	if w.Await(2); !slices.Equal(w.Texts(), []string{"root", "in a new thread"}) {
		t.Errorf("got %q", w.Texts())
	}
	w.Stop()
}
