package daemon

import (
	"fmt"
	"strings"
	"testing"

	"scv/daemon/caller"
	"scv/daemon/channel/wechat"
	"scv/daemon/channel/wechat/wechattest"
	"scv/daemon/credential"
	"scv/internal/clock"
	"scv/wire"
)

// A WeChat account answers, asks and takes an answer; a long answer goes in parts of which one alone spends the
// message's token; nobody but the owner is heard. When its session is over, the status says how to sign in again.
func TestASignedInWeChat(t *testing.T) {
	p := wechattest.New(t, wechattest.Options{})
	bot := p.Bot()
	home := newHome(t, fmt.Sprintf(`
[agents.cat]
command = ["cat"]
[wechat]
stand_in = %q
[timing]
reconcile = "20ms"
backoff_min = "10ms"
backoff_max = "50ms"
`, p.PlainURL()))
	saved, err := wechat.Credentials{Token: bot.Token, BaseURL: "https://ilinkai.weixin.qq.com", BotID: bot.ID, UserID: bot.Owner}.Format()
	if err == nil {
		err = credential.In(home).Save("wechat", "default", saved)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := &signedIn{started: startInProcess(t, home, clock.NewVirtual()), home: home}
	s.c = s.client(caller.Verdict{})
	t.Cleanup(func() { s.c.Close(); s.stop() })
	state := func(want wire.ComponentState) (h wire.ComponentHealth) {
		t.Helper()
		await(t, "the account is "+string(want), func() bool {
			for _, h = range s.accounts.Health() {
				if h.ID == "wechat:default" && h.State == want {
					return true
				}
			}
			return false
		}, func() string { return fmt.Sprintf("%+v", h) })
		return h
	}
	sees := func(words string) (m wechattest.Sent) {
		t.Helper()
		await(t, "a message with "+words, func() bool {
			for _, m = range p.Sent() {
				if m.To == bot.Owner && !m.Dropped && strings.Contains(m.Text, words) {
					return true
				}
			}
			return false
		}, func() string { return fmt.Sprintf("%+v", p.Sent()) })
		return m
	}
	if h := state(wire.Connected); text(h.BotID) != bot.ID || text(h.UserID) != bot.Owner || h.RemoteTools != wire.ToolsNone {
		t.Errorf("health %+v", h)
	}
	tools := wire.ToolsOwner
	if _, err := s.c.AccountSet(t.Context(), wire.AccountSet{Channel: "wechat", Account: "default", RemoteTools: &tools}); err != nil {
		t.Fatal(err)
	}
	state(wire.Connected)
	p.Say(bot.ID, "stranger@im.wechat", "let me in")
	said := p.Say(bot.ID, bot.Owner, "hello from afar")
	if m := sees("hello from afar"); m.ReplyTo != said || !p.Acked(said) {
		t.Errorf("answered %+v, acknowledged %v", m, p.Acked(said))
	}
	long := p.Say(bot.ID, bot.Owner, strings.Repeat("many words ", 2000)+"and an end")
	if m := sees("and an end"); m.ReplyTo != "" {
		t.Errorf("the last part of a long answer spends a token: %+v", m)
	}
	spent := 0
	for _, m := range p.Sent() {
		if m.ReplyTo == long {
			spent++
		}
		if m.To != bot.Owner || m.Dropped {
			t.Errorf("it went wrong: %+v", m)
		}
	}
	if spent != 1 {
		t.Errorf("the long answer is %d times on its token", spent)
	}
	status, err := s.c.Control(t.Context(), wire.ConfirmAskCommand{Question: "Deploy?"})
	if err != nil || status.Confirm.Chat != "wechat:default" {
		t.Fatalf("asked: %+v, %v", status.Confirm, err)
	}
	if m := sees("Deploy?"); m.ReplyTo != "" || !strings.HasPrefix(m.Text, "```") {
		t.Errorf("the question is %+v", m)
	}
	await(t, "the question is open", func() bool { return !s.confirm(t, status.Confirm.ID).Opened.IsZero() }, func() string { return "" })
	p.Say(bot.ID, bot.Owner, "是")
	await(t, "the answer", func() bool { return s.confirm(t, status.Confirm.ID).State == wire.Yes }, func() string {
		return string(s.confirm(t, status.Confirm.ID).State)
	})
	p.Expire(bot.ID)
	if h := state(wire.Failed); !strings.Contains(text(h.Error), "scv channels login wechat") {
		t.Errorf("it says %q", text(h.Error))
	}
}
