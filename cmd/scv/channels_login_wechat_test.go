package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"scv/daemon/channel/wechat/wechattest"
	"scv/wire"
)

// newWeChat is a home whose WeChat is a fake one.
func newWeChat(t *testing.T, options wechattest.Options) (home string, p *wechattest.Platform) {
	t.Helper()
	home, p = newHome(t), wechattest.New(t, options)
	writeConfig(t, home, fmt.Sprintf("[wechat]\nstand_in = %q\n[timing]\nreconcile = \"20ms\"\nbackoff_min = \"20ms\"\n", p.PlainURL()))
	return home, p
}

func wechatCredentials(home, account string) string {
	return filepath.Join(home, "credentials", "wechat", account+".json")
}

// Somebody scans a code where no daemon ever ran, starts one, and has their account.
func TestWeChatLoginBeforeTheFirstStart(t *testing.T) {
	home, p := newWeChat(t, wechattest.Options{})
	got := at(t, home).scv("channels", "login", "wechat")
	made := p.Bots()[1]
	if got.code != 0 || !strings.Contains(got.out, "signed in wechat:default as the bot "+made.ID+" of WeChat") || !strings.Contains(got.out, "no daemon is running") {
		t.Fatalf("got %+v", got)
	}
	if !strings.Contains(got.out, "https://liteapp.weixin.qq.com/") || !strings.Contains(got.out, "█") || !strings.Contains(got.errOut, "scanned") {
		t.Errorf("there is no code to scan in %+v", got)
	}
	info, err := os.Stat(wechatCredentials(home, "default"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("credentials: %v, %v", info, err)
	}
	d := startDaemon(t, home)
	h := d.component(t, "wechat:default", wire.Connected)
	if *h.BotID != made.ID || *h.UserID != made.Owner || h.RemoteTools != wire.ToolsNone || *h.Senders != wire.SendersOwner {
		t.Errorf("health %+v", h)
	}
	if strings.Contains(got.out+got.errOut+d.log(), made.Token) {
		t.Error("the token is shown")
	}
	d.terminate(t)
}

// A daemon that runs uses a new account at once, says when its session is over, and goes on with a new token of
// the same bot. Another bot is another account.
func TestWeChatLoginBesideADaemon(t *testing.T) {
	home, p := newWeChat(t, wechattest.Options{})
	d := startDaemon(t, home)
	login := func(plan wechattest.SignIn) result {
		p.PlanSignIn(plan)
		return at(t, home).scv("channels", "login", "wechat", "--account", "work")
	}
	if got := login(wechattest.SignIn{}); got.code != 0 || !strings.Contains(got.out, "wechat:work") {
		t.Fatalf("got %+v", got)
	}
	d.component(t, "wechat:work", wire.Connected)
	bot := p.Bots()[1]
	p.Expire(bot.ID)
	h := d.component(t, "wechat:work", wire.Failed)
	if !strings.Contains(*h.Error, "scv channels login wechat --account work") {
		t.Errorf("it says %q", *h.Error)
	}
	before, err := os.ReadFile(wechatCredentials(home, "work"))
	if err != nil {
		t.Fatal(err)
	}
	got := login(wechattest.SignIn{})
	if after, err := os.ReadFile(wechatCredentials(home, "work")); got.code != exitFailed || err != nil || string(after) != string(before) ||
		!strings.Contains(got.errOut, "channels logout wechat:work") {
		t.Errorf("as another bot: %+v", got)
	}
	for what, plan := range map[string]wechattest.SignIn{
		"https://sh-ilinkai.weixin.qq.com": {Bot: bot, BaseURL: "https://sh-ilinkai.weixin.qq.com"},
		"somebody@im.wechat":               {Bot: wechattest.Bot{ID: bot.ID, Owner: "somebody@im.wechat"}},
	} {
		if got := login(plan); got.code != exitFailed || !strings.Contains(got.errOut, what) {
			t.Errorf("what is another than before is not said: %s is not in %+v", what, got)
		}
	}
	if got := login(wechattest.SignIn{Bot: bot}); got.code != 0 || !strings.Contains(got.errOut, "signed in already") {
		t.Errorf("as the same bot: %+v", got)
	}
	d.component(t, "wechat:work", wire.Connected)
	for _, b := range p.Bots() {
		if strings.Contains(got.out+got.errOut+d.log(), b.Token) {
			t.Error("a token is shown")
		}
	}
	d.terminate(t)
}

// One bot has one account: under a second name it is not saved.
func TestWeChatLoginOfABotThatHasAnAccount(t *testing.T) {
	home, p := newWeChat(t, wechattest.Options{})
	if got := at(t, home).scv("channels", "login", "wechat", "--account", "work"); got.code != 0 {
		t.Fatalf("got %+v", got)
	}
	bot := p.Bots()[1]
	p.PlanSignIn(wechattest.SignIn{Bot: bot})
	got := at(t, home).scv("channels", "login", "wechat")
	if _, err := os.Stat(wechatCredentials(home, "default")); got.code != exitFailed || err == nil ||
		!strings.Contains(got.errOut, bot.ID+" is wechat:work already") || !strings.Contains(got.errOut, "channels login wechat --account work") ||
		!strings.Contains(got.errOut, "channels logout wechat:work") {
		t.Errorf("got %+v, %v", got, err)
	}
}

// What cannot be saved is not, and a person reads why.
func TestWeChatLoginThatFails(t *testing.T) {
	home, p := newWeChat(t, wechattest.Options{})
	for name, c := range map[string]struct {
		args, stdin string
		plan        wechattest.SignIn
		code        int
		says        string
	}{
		"bound already":     {plan: wechattest.SignIn{Last: &wechattest.Status{Name: "binded_redirect"}}, code: exitFailed, says: "no second token"},
		"no owner":          {plan: wechattest.SignIn{Set: map[string]any{"ilink_user_id": nil}}, code: exitFailed, says: "as whom"},
		"a foreign host":    {plan: wechattest.SignIn{BaseURL: "https://evil.example"}, code: exitFailed, says: "not its own"},
		"nobody types":      {plan: wechattest.SignIn{Verify: "42"}, code: exitFailed, says: "nobody types"},
		"bad name":          {args: "--account a/b", code: exitUsage, says: "cannot be an account"},
		"an app":            {args: "--app-id cli_1", code: exitUsage, says: "for feishu"},
		"an odd place":      {args: "--login-url http://ilinkai.weixin.qq.com", code: exitUsage, says: "https://"},
		"a place of a path": {args: "--login-url https://ilinkai.weixin.qq.com/x", code: exitUsage, says: "https://"},
	} {
		t.Run(name, func(t *testing.T) {
			p.PlanSignIn(c.plan)
			hand := at(t, home)
			hand.stdin = c.stdin
			got := hand.scv(append([]string{"channels", "login", "wechat"}, strings.Fields(c.args)...)...)
			if got.code != c.code || !strings.Contains(got.errOut, c.says) {
				t.Errorf("got %+v", got)
			}
			if _, err := os.Stat(filepath.Dir(wechatCredentials(home, "default"))); err == nil {
				t.Error("something was saved")
			}
		})
	}
	if got := at(t, home).scv("channels", "login", "feishu", "--login-url", "https://x.example"); got.code != exitUsage || !strings.Contains(got.errOut, "for wechat") {
		t.Errorf("Feishu with a place: %+v", got)
	}
}

// The phone may ask for a number to be typed here, and its region may have a host of its own.
func TestWeChatLoginWithANumber(t *testing.T) {
	home, p := newWeChat(t, wechattest.Options{})
	p.PlanSignIn(wechattest.SignIn{
		Statuses: []wechattest.Status{{Name: "scaned_but_redirect", Host: "sh-ilinkai.weixin.qq.com"}},
		Verify:   "42", BaseURL: "https://sh-ilinkai.weixin.qq.com",
	})
	hand := at(t, home)
	hand.stdin = "7\n42\n"
	got := hand.scv("channels", "login", "wechat", "--login-url", "https://ilinkai.weixin.qq.com/")
	if got.code != 0 || !strings.Contains(got.errOut, "number that your phone shows") || !strings.Contains(got.errOut, "That was not it") {
		t.Fatalf("got %+v", got)
	}
	saved, err := os.ReadFile(wechatCredentials(home, "default"))
	if err != nil || !strings.Contains(string(saved), `"base_url":"https://sh-ilinkai.weixin.qq.com"`) {
		t.Errorf("saved %s, %v", saved, err)
	}
}

// An account whose log-out has not ended is not taken up: who signs in hears that, and how to go on.
func TestWeChatLoginOverALogoutThatFailed(t *testing.T) {
	home, p := newWeChat(t, wechattest.Options{})
	d := startDaemon(t, home)
	if got := at(t, home).scv("channels", "login", "wechat"); got.code != 0 {
		t.Fatalf("got %+v", got)
	}
	d.component(t, "wechat:default", wire.Connected)
	inTheWay := filepath.Join(home, "credentials", "wechat", "default.json", "x")
	for _, do := range []func() error{
		func() error { return os.Remove(filepath.Dir(inTheWay)) },
		func() error { return os.MkdirAll(inTheWay, 0o700) },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	if got := at(t, home).scv("channels", "logout", "wechat:default"); got.code == 0 {
		t.Fatalf("got %+v", got)
	}
	if err := os.RemoveAll(filepath.Dir(inTheWay)); err != nil {
		t.Fatal(err)
	}
	login := func() result {
		p.PlanSignIn(wechattest.SignIn{Bot: p.Bots()[1]})
		return at(t, home).scv("channels", "login", "wechat")
	}
	if got := login(); got.code != exitFailed || !strings.Contains(got.errOut, "channels logout wechat:default") {
		t.Errorf("got %+v", got)
	}
	if got := at(t, home).scv("channels", "logout", "wechat:default"); got.code != 0 {
		t.Errorf("the log-out again: %+v", got)
	}
	if got := login(); got.code != 0 {
		t.Errorf("the sign-in again: %+v", got)
	}
	d.component(t, "wechat:default", wire.Connected)
	d.terminate(t)
}
