package wechattest

import (
	"net/url"
	"strings"
	"testing"
)

// code asks for a code.
func (c *client) code() string {
	c.t.Helper()
	r := c.get("/ilink/bot/get_bot_qrcode?bot_type=3")
	if !strings.HasPrefix(r.field("qrcode_img_content"), "https://") {
		c.t.Errorf("a code: %s", r.text)
	}
	return r.field("qrcode")
}

// status asks for a code's status, at a host.
func (c *client) status(host, code, more string) *response {
	c.t.Helper()
	return c.get("https://" + host + "/ilink/bot/get_qrcode_status?qrcode=" + url.QueryEscape(code) + more)
}

func TestSignIn(t *testing.T) {
	p := New(t, Options{})
	c := newClient(t, p, p.Bot())
	const host = "ilinkai.weixin.qq.com"
	code := c.code()
	for _, want := range []string{"wait", "scaned", "confirmed", "expired"} {
		r := c.status(host, code, "")
		if r.field("status") != want || r.Ret == nil || *r.Ret != 0 {
			t.Errorf("%s: %s", want, r.text)
		}
		if want == "confirmed" {
			made := Bot{ID: r.field("ilink_bot_id"), Token: r.field("bot_token"), Owner: r.field("ilink_user_id")}
			if bots := p.Bots(); made != bots[1] || made.Token == "" || r.field("baseurl") != "https://"+host {
				t.Errorf("%s, and there are %+v", r.text, bots)
			}
		}
	}
}

// What the plan says happens, in its order.
func TestPlannedSignIn(t *testing.T) {
	p := New(t, Options{})
	bot := p.Bot()
	c := newClient(t, p, bot)
	const usual, moved = "ilinkai.weixin.qq.com", "sh-ilinkai.weixin.qq.com"
	p.PlanSignIn(SignIn{
		Statuses: []Status{{Name: "expired"}, {Status: 502}, {Name: "scaned_but_redirect", Host: moved}, {Name: "scaned"}},
		Verify:   "42", Bot: bot, BaseURL: "https://" + moved, NoRet: true, Set: map[string]any{"ilink_user_id": nil},
	})
	first := c.code()
	if r := c.status(usual, first, ""); r.field("status") != "expired" || r.Ret != nil {
		t.Errorf("the first code: %s", r.text)
	}
	second := c.code()
	if r := c.status(usual, first, ""); r.field("status") != "expired" {
		t.Errorf("the first code again: %s", r.text)
	}
	if r := c.status(usual, second, ""); r.status != 502 {
		t.Errorf("a gateway: %+v", r)
	}
	for range 2 {
		if r := c.status(usual, second, ""); r.field("redirect_host") != moved {
			t.Errorf("elsewhere: %s", r.text)
		}
	}
	for _, step := range []struct{ more, status string }{
		{"", "scaned"}, {"", "need_verifycode"}, {"&verify_code=1", "need_verifycode"}, {"&verify_code=42", "confirmed"},
	} {
		r := c.status(moved, second, step.more)
		if r.field("status") != step.status {
			t.Errorf("%+v: %s", step, r.text)
		}
		if step.status == "confirmed" && (r.field("ilink_bot_id") != bot.ID || r.field("ilink_user_id") != "" || r.field("bot_token") == bot.Token) {
			t.Errorf("the token: %s", r.text)
		}
	}
	if len(p.Bots()) != 1 || p.Codes() != 2 {
		t.Errorf("%d bots after %d codes", len(p.Bots()), p.Codes())
	}
	if r := c.poll(""); r.Code != expired {
		t.Errorf("the old token: %s", r.text)
	}
}

func TestThreeWrongNumbers(t *testing.T) {
	p := New(t, Options{})
	c := newClient(t, p, p.Bot())
	p.PlanSignIn(SignIn{Verify: "42"})
	code := c.code()
	for _, want := range []string{"need_verifycode", "need_verifycode", "verify_code_blocked", "expired"} {
		if r := c.status("ilinkai.weixin.qq.com", code, "&verify_code=1"); r.field("status") != want {
			t.Errorf("%s: %s", want, r.text)
		}
	}
	p.PlanSignIn(SignIn{Last: &Status{Name: "wait"}})
	code = c.code()
	for range 3 {
		if r := c.status("ilinkai.weixin.qq.com", code, ""); r.field("status") != "wait" {
			t.Errorf("waiting: %s", r.text)
		}
	}
	p.Scan()
	if r := c.status("ilinkai.weixin.qq.com", code, ""); r.field("status") != "confirmed" {
		t.Errorf("scanned: %s", r.text)
	}
}

func TestHosts(t *testing.T) {
	p := New(t, Options{})
	c := newClient(t, p, p.Bot())
	for _, base := range []string{p.URL(), p.PlainURL(), "https://sh.weixin.qq.com"} {
		c.base = base
		if code := c.code(); code == "" {
			t.Errorf("%s gives no code", base)
		}
	}
	for _, base := range []string{"https://evil.example", "https://qq.com.evil.example", "http://ilinkai.weixin.qq.com"} {
		if r, err := c.try("GET", base+"/", "", nil); err == nil {
			t.Errorf("%s: %s", base, r.text)
		}
	}
}
