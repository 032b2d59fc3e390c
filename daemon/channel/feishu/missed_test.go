package feishu

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"scv/daemon/channel/feishu/feishutest"
)

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
