package daemon

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"scv/daemon/caller"
	"scv/daemon/channel/wechat"
	"scv/daemon/channel/wechat/wechattest"
	"scv/daemon/credential"
	"scv/internal/clock"
	"scv/wire"
)

// inWeChat is a daemon over a home where somebody signed in to a fake WeChat.
type inWeChat struct {
	*signedIn
	bot wechattest.Bot
	p   *wechattest.Platform
}

func startInWeChat(t *testing.T) *inWeChat {
	t.Helper()
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
	return &inWeChat{s, bot, p}
}

func (s *inWeChat) turns(t *testing.T, want wire.ComponentState) (h wire.ComponentHealth) {
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

// sees waits until the owner has got a message with these words.
func (s *inWeChat) sees(t *testing.T, words string) (m wechattest.Sent) {
	t.Helper()
	await(t, "a message with "+words, func() bool {
		for _, m = range s.p.Sent() {
			if m.To == s.bot.Owner && !m.Dropped && strings.Contains(m.Text, words) {
				return true
			}
		}
		return false
	}, func() string { return fmt.Sprintf("%+v", s.p.Sent()) })
	return m
}

func (s *inWeChat) says(text string) (id string) { return s.p.Say(s.bot.ID, s.bot.Owner, text) }

func (s *inWeChat) grant(t *testing.T) {
	t.Helper()
	tools := wire.ToolsOwner
	if _, err := s.c.AccountSet(t.Context(), wire.AccountSet{Channel: "wechat", Account: "default", RemoteTools: &tools}); err != nil {
		t.Fatal(err)
	}
	s.turns(t, wire.Connected)
}

// A WeChat account answers its owner and nobody else. A long answer goes in parts, of which one alone spends
// the message's token. When its session is over, the status says how to sign in again, and so
// does another chat of the owner.
func TestASignedInWeChat(t *testing.T) {
	s := startInWeChat(t)
	if h := s.turns(t, wire.Connected); text(h.BotID) != s.bot.ID || text(h.UserID) != s.bot.Owner || h.RemoteTools != wire.ToolsNone {
		t.Errorf("health %+v", h)
	}
	s.grant(t)
	s.p.Say(s.bot.ID, "stranger@im.wechat", "let me in")
	said := s.says("hello from afar")
	if m := s.sees(t, "hello from afar"); m.ReplyTo != said || !s.p.Acked(said) {
		t.Errorf("answered %+v, acknowledged %v", m, s.p.Acked(said))
	}
	long := s.says(strings.Repeat("many words ", 2000) + "and an end")
	if m := s.sees(t, "and an end"); m.ReplyTo != "" {
		t.Errorf("the last part of a long answer spends a token: %+v", m)
	}
	spent := 0
	for _, m := range s.p.Sent() {
		if m.ReplyTo == long {
			spent++
		}
		if m.To != s.bot.Owner || m.Dropped {
			t.Errorf("it went wrong: %+v", m)
		}
	}
	if spent != 1 {
		t.Errorf("the long answer is %d times on its token", spent)
	}
	s.p.Expire(s.bot.ID)
	if h := s.turns(t, wire.Failed); !strings.Contains(text(h.Error), "scv channels login wechat") {
		t.Errorf("it says %q", text(h.Error))
	}
	await(t, "another chat of the owner hears of it", func() bool { return s.localChatHas(t, "wechat:default does not run any more") }, func() string { return "" })
}

// A question goes unprompted, marked as the program's own words, and a plain word of the owner's answers it; by
// the platform's clock, whatever ours says. Where ours is wrong, nobody is quicker than a second.
func TestAQuestionInWeChat(t *testing.T) {
	for _, skew := range []time.Duration{0, -time.Hour, time.Hour} {
		s := startInWeChat(t)
		s.p.Skew(skew)
		s.turns(t, wire.Connected)
		s.grant(t)
		s.says("the first words")
		s.sees(t, "the first words")
		status, err := s.c.Control(t.Context(), wire.ConfirmAskCommand{Question: "Deploy?"})
		if err != nil || status.Confirm.Chat != "wechat:default" {
			t.Fatalf("asked: %+v, %v", status.Confirm, err)
		}
		id := status.Confirm.ID
		if m := s.sees(t, "Deploy?"); m.ReplyTo != "" || !strings.HasPrefix(m.Text, "```") {
			t.Errorf("the question is %+v", m)
		}
		await(t, "the question is open", func() bool { return !s.confirm(t, id).Opened.IsZero() }, func() string { return "" })
		old := s.p.Say(s.bot.ID, s.bot.Owner, "是", wechattest.At(s.p.Now().Add(-time.Minute)))
		await(t, "the old yes is taken", func() bool { return s.p.Acked(old) }, func() string { return "" })
		if got := s.confirm(t, id).State; got != wire.Pending {
			t.Errorf("skew %v: an old yes makes it %s", skew, got)
		}
		soon := wechattest.At(s.p.Now())
		if skew != 0 {
			soon = wechattest.At(s.p.Now().Add(2 * time.Second))
		}
		s.p.Say(s.bot.ID, s.bot.Owner, "是", soon)
		await(t, "the answer", func() bool { return s.confirm(t, id).State == wire.Yes }, func() string { return string(s.confirm(t, id).State) })
	}
}
