package feishu

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"scv/daemon/channel"
	"scv/daemon/channel/feishu/feishutest"
)

// What was written while nobody was connected is caught up on, whichever clock is wrong: ours, or the platform's for
// a while, which leaves a message dated in the future.
func TestCatchUpUnderWrongClocks(t *testing.T) {
	const far = 26 * time.Hour
	for name, during := range map[string][2]time.Duration{
		"ours is ahead": {-far, -far}, "ours is behind": {far, far}, "the platform's was ahead": {far, 0},
	} {
		w := newWorld(t, feishutest.Options{})
		w.p.Skew(during[0])
		w.start()
		w.say("first")
		w.Await(1)
		w.Stop()
		w.p.Skew(during[1])
		w.say("missed", feishutest.Unheard()) // else the push may come again
		w.start()
		w.Until(name, func() bool { return slices.Contains(w.Texts(), "missed") })
		w.Stop()
		w.p.Close()
	}
}

// A place of which no answer can be read, or that never ends, costs the account nothing else.
func TestPlacesThatCannotBeRead(t *testing.T) {
	endless, err := json.Marshal(map[string]any{"code": 0, "data": map[string]any{"has_more": true, "page_token": "next", "items": []any{}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{"too large": strings.Repeat(" ", maxAnswer+1), "endless": string(endless)} {
		w := newWorld(t, feishutest.Options{})
		w.start()
		w.say("first")
		w.Await(1)
		w.Stop()
		w.p.Inject(feishutest.Fault{Route: feishutest.List, Body: body, Times: -1})
		w.start()
		w.say("second")
		w.Until(name, func() bool { return slices.Contains(w.Texts(), "second") })
		w.Stop()
		w.p.Close()
	}
}

// Ids that nobody could keep are no message's.
func TestLongIDsAreMalformed(t *testing.T) {
	good := item{id: "om_1", chat: "oc_1", sender: "ou_1", thread: "omt_1", root: "om_0", parent: "om_0"}
	if err := good.check(); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 257)
	for i, change := range []func(*item){
		func(it *item) { it.thread = long }, func(it *item) { it.root = long },
		func(it *item) { it.parent = "a\nb" }, func(it *item) { it.sender = long },
	} {
		bad := good
		change(&bad)
		if bad.check() == nil {
			t.Errorf("change %d is taken", i)
		}
	}
	if !channel.Millis("9223372036854775807").IsZero() {
		t.Error("a time beyond all years is one")
	}
}
