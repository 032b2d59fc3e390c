package feishu

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"scv/daemon/channel"
)

// What each kind of answer means for a message on its way.
func TestAnswersAreJudged(t *testing.T) {
	for _, c := range []struct {
		status, code int
		coded        bool
		want         fate
	}{
		{200, 99991661, true, again},
		{400, 99991663, true, again},
		{400, 99991664, true, again},
		{400, 99991668, true, again},
		{400, 99991400, true, again},
		{400, 230020, true, again},
		{400, 11232, true, again},
		{400, 11233, true, again},
		{429, 0, false, again},
		{429, 4711, true, again},
		{408, 0, false, again},
		{503, 0, false, again},
		{500, 230999, true, again},
		{500, 230002, true, refused},
		{200, 230002, true, refused},
		{400, 4711, true, refused},
		{403, 0, false, refused},
		{302, 0, false, again},
		{200, 0, false, again},
		{302, 0, true, again},
		{200, 10014, true, owner},
		{400, 10003, true, owner},
		{400, 99991662, true, owner},
		{400, 99991672, true, owner},
		{400, 230006, true, owner},
	} {
		err := judge(codes, c.status, c.code, c.coded)
		got, ok := errors.AsType[*answer](err)
		if !ok || got.fate != c.want {
			t.Errorf("HTTP %d, code %d (%v): %v", c.status, c.code, c.coded, err)
		}
		if ok && got.token != slices.Contains([]int{99991661, 99991663, 99991664, 99991668}, c.code) {
			t.Errorf("code %d: the token is dropped: %v", c.code, got.token)
		}
	}
	if err := judge(codes, 200, 0, true); err != nil {
		t.Errorf("success: %v", err)
	}
}

// What needs the owner says what to do, and is final; the rest is not.
func TestWhatNeedsTheOwner(t *testing.T) {
	for _, table := range []map[int]meaning{codes, endpointCodes} {
		for code, row := range table {
			err := permanent(judge(table, 200, code, true))
			final, ok := errors.AsType[*channel.PermanentError](err)
			if ok != (row.fate == owner) {
				t.Errorf("code %d: %v", code, err)
			}
			if ok && (!strings.Contains(final.Advice, "scv ") || len(final.Advice) > 300) {
				t.Errorf("code %d advises %q", code, final.Advice)
			}
		}
	}
}

func TestSocketURLs(t *testing.T) {
	feishu := Public(Feishu)
	for url, want := range map[string]int32{
		"wss://msg-frontier.feishu.cn/ws/v2?service_id=33554678&access_key=k": 33554678,
		"wss://feishu.cn:443/?service_id=1":                                   1,
		"wss://A.Feishu.CN/?service_id=2":                                     2,
	} {
		if got, err := feishu.socketURL(url); err != nil || got != want {
			t.Errorf("%s: %d, %v", url, got, err)
		}
	}
	for _, url := range []string{
		"ws://msg.feishu.cn/?service_id=1", "wss://msg.feishu.cn:8443/?service_id=1", "wss://feishu.cn.evil.org/?service_id=1",
		"wss://evilfeishu.cn/?service_id=1", "wss://u:p@msg.feishu.cn/?service_id=1", "wss://msg.feishu.cn/?service_id=1#x",
		"wss://msg.larksuite.com/?service_id=1", "wss://msg.feishu.cn/?service_id=x", "wss://msg.feishu.cn/", "https://msg.feishu.cn/?service_id=1",
		"wss://[::1%25/?service_id=1", "wss://msg.feishu.cn/?service_id=99999999999", "",
	} {
		got, err := feishu.socketURL(url + "&access_key=s3cret")
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %d, %v", url, got, err)
		}
	}
}

func TestStandInsAreOfThisMachine(t *testing.T) {
	for _, origin := range []string{"http://127.0.0.1:8080", "http://[::1]:1"} {
		if p, err := StandIn(origin, Lark); err != nil || p.Open != origin+"/lark" || !strings.HasPrefix(p.Socket, "ws://") {
			t.Errorf("%s: %+v, %v", origin, p, err)
		}
	}
	for _, origin := range []string{
		"https://127.0.0.1:1", "http://127.0.0.1", "http://example.org:80", "http://localhost:80", "http://10.0.0.1:80",
		"http://u@127.0.0.1:1", "http://127.0.0.1:1/x", "http://127.0.0.1:1?x", "", "127.0.0.1:1",
	} {
		if p, err := StandIn(origin, Feishu); err == nil {
			t.Errorf("%s is %+v", origin, p)
		}
	}
}
