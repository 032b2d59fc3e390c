package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"scv/daemon/caller"
	"scv/daemon/channel/wechat"
	"scv/daemon/channel/wechat/wechattest"
	"scv/daemon/credential"
	"scv/internal/clock"
	"scv/store"
	"scv/wire"
)

// What WeChat refuses is refused on that message's token for good: it goes along with the next answer, on that one's.
// While an agent works, the chat shows somebody writing, and no line that would need a token of its own.
func TestARefusedReplyRidesAlong(t *testing.T) {
	p := wechattest.New(t, wechattest.Options{})
	bot := p.Bot()
	stop := filepath.Join(t.TempDir(), "stop") // while it is there, agents do not end
	startWeChat(t, p, bot, stop)

	before := len(p.Requests(wechattest.Send))
	p.Inject(wechattest.Fault{Route: wechattest.Send, Ret: -2, Msg: "prepare failed"})
	p.Say(bot.ID, bot.Owner, "the first words")
	await(t, "the refusal", func() bool { return len(p.Requests(wechattest.Send)) > before }, func() string { return "nothing was sent" })
	if err := os.WriteFile(stop, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	second := p.Say(bot.ID, bot.Owner, "the second words")
	await(t, "a sign of typing", func() bool { return len(p.Typings()) > 0 }, func() string { return "none" })
	if err := os.Remove(stop); err != nil {
		t.Fatal(err)
	}
	m := seenIn(t, p, "the first words")
	if m.ReplyTo != second || m.Dropped || !strings.HasSuffix(m.Text, "the second words") {
		t.Errorf("it came as %+v", m)
	}
	await(t, "the end of typing", func() bool { all := p.Typings(); return all[len(all)-1].Ends }, func() string { return fmt.Sprintf("%+v", p.Typings()) })
	for _, m := range p.Sent() {
		if strings.Contains(m.Text, "is at work") {
			t.Errorf("a line of progress: %+v", m)
		}
	}
	if n := len(p.Requests(wechattest.Send)) - before; n != 2 {
		t.Errorf("%d sends", n)
	}
}

// startWeChat starts a daemon with a bot whose owner's agent has tools and says what it hears.
func startWeChat(t *testing.T, p *wechattest.Platform, bot wechattest.Bot, stop string) {
	t.Helper()
	home := newHome(t, fmt.Sprintf(`
[agents.slow]
command = ["sh", "-c", "while [ -e %s ]; do sleep 0.02; done; cat"]
[wechat]
stand_in = %q
[turns]
progress = "10ms"
[timing]
reconcile = "20ms"
`, stop, p.PlainURL()))
	saved, err := wechat.Credentials{Token: bot.Token, BaseURL: "https://ilinkai.weixin.qq.com", BotID: bot.ID, UserID: bot.Owner}.Format()
	if err == nil {
		err = credential.In(home).Save("wechat", "default", saved)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := startInProcess(t, home, clock.NewVirtual())
	c := s.client(caller.Verdict{})
	t.Cleanup(func() { c.Close(); s.stop() })
	await(t, "the account", func() bool {
		return slices.ContainsFunc(s.accounts.Health(), func(h wire.ComponentHealth) bool { return h.ID == "wechat:default" })
	}, func() string { return fmt.Sprintf("%+v", s.accounts.Health()) })
	tools := wire.ToolsOwner
	if _, err := c.AccountSet(t.Context(), wire.AccountSet{Channel: "wechat", Account: "default", RemoteTools: &tools}); err != nil {
		t.Fatal(err)
	}
	seenIn(t, p, "remote_tools is now")
	await(t, "an empty outbox", func() (empty bool) { // the account began anew with its settings, so a send may be repeated
		_ = s.store.View(func(v *store.View) error { empty = len(v.OutboxAccounts()) == 0; return nil })
		return empty
	}, func() string { return "it is not" })
}

// seenIn waits until a bot has sent a message with these words.
func seenIn(t *testing.T, p *wechattest.Platform, words string) (m wechattest.Sent) {
	t.Helper()
	await(t, "a message with "+words, func() bool {
		sent := p.Sent()
		i := slices.IndexFunc(sent, func(m wechattest.Sent) bool { return strings.Contains(m.Text, words) })
		if i >= 0 {
			m = sent[i]
		}
		return i >= 0
	}, func() string { return fmt.Sprintf("%+v", p.Sent()) })
	return m
}
