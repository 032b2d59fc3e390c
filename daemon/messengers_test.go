package daemon

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"scv/daemon/channel/feishu"
	"scv/daemon/channel/feishu/feishutest"
	"scv/daemon/channel/wechat"
	"scv/daemon/channel/wechat/wechattest"
	"scv/daemon/credential"
	"scv/store"
	"scv/wire"
)

// inFeishu are people around an app, which hears all of its group.
type inFeishu struct {
	p      *feishutest.Platform
	app    feishutest.App
	chat   string // the owner's
	theirs string // the stranger's
	group  string
}

const feishuStranger = "ou_stranger"

func newInFeishu(t *testing.T) *inFeishu {
	t.Helper()
	m := &inFeishu{p: feishutest.New(t, feishutest.Options{Apps: []feishutest.App{{Groups: true}}})}
	m.app = m.p.App()
	m.chat, m.theirs = m.p.Direct(m.app.ID, m.app.Owner), m.p.Direct(m.app.ID, feishuStranger)
	m.group = m.p.Group(m.app.ID)
	return m
}

func (m *inFeishu) id() string     { return "feishu:default" }
func (m *inFeishu) owner() string  { return m.app.Owner }
func (m *inFeishu) bot() string    { return m.app.ID }
func (m *inFeishu) can() abilities { return abilities{true, true, true, true, true} }
func (m *inFeishu) config() string { return fmt.Sprintf("[feishu]\nstand_in = %q", m.p.PlainURL()) }

func (m *inFeishu) signIn(home string) error {
	saved, err := feishu.Credentials{
		AppID: m.app.ID, AppSecret: m.app.Secret, Brand: feishu.Brand(m.app.Brand), OwnerOpenID: m.app.Owner,
	}.Format()
	if err != nil {
		return err
	}
	return credential.In(home).Save("feishu", "default", saved)
}

func (m *inFeishu) say(_ *testing.T, _ *talk, l line) string {
	who, where := m.app.Owner, m.chat
	if l.stranger {
		who, where = feishuStranger, m.theirs
	}
	opts := []feishutest.Option{feishutest.At(m.p.Now().Add(l.at))}
	if l.group {
		where = m.group
	}
	if l.mention {
		opts = append(opts, feishutest.Mention(m.app.BotID))
	}
	if l.quotes != "" {
		opts = append(opts, feishutest.Quote(l.quotes))
	}
	return m.p.Say(where, who, l.text, opts...)
}

func (m *inFeishu) taken(id string) bool { return m.p.Acked(id) }

func (m *inFeishu) heard(*testing.T, *talk) (all []heard) {
	for _, s := range m.p.Sent() {
		all = append(all, heard{s.MessageID, s.ReplyTo, s.Text, s.Chat == m.theirs, s.Chat == m.group})
	}
	return all
}

func (m *inFeishu) skew(by time.Duration) { m.p.Skew(by) }

func (m *inFeishu) refuse() { m.p.Inject(feishutest.Fault{Route: feishutest.Send, Code: 230002}) }

func (m *inFeishu) end() {
	m.p.SetSecret(m.app.ID, "another")
	m.p.ExpireTokens()
	m.p.Kick(m.app.ID)
}

func (m *inFeishu) renew() { m.app.Secret = "another" }

func (m *inFeishu) asked() int {
	return len(m.p.Requests(feishutest.Token)) + len(m.p.Requests(feishutest.Endpoint)) + len(m.p.Requests(feishutest.Reply))
}

// inWeChat are people around a bot.
type inWeChat struct {
	p *wechattest.Platform
	b wechattest.Bot
}

const (
	wechatStranger = "stranger@im.wechat"
	wechatGroup    = "group@chatroom"
)

func newInWeChat(t *testing.T) *inWeChat {
	t.Helper()
	p := wechattest.New(t, wechattest.Options{})
	return &inWeChat{p, p.Bot()}
}

func (m *inWeChat) id() string     { return "wechat:default" }
func (m *inWeChat) owner() string  { return m.b.Owner }
func (m *inWeChat) bot() string    { return m.b.ID }
func (m *inWeChat) can() abilities { return abilities{true, false, true, true, true} }
func (m *inWeChat) config() string { return fmt.Sprintf("[wechat]\nstand_in = %q", m.p.PlainURL()) }

func (m *inWeChat) signIn(home string) error {
	saved, err := wechat.Credentials{Token: m.b.Token, BaseURL: "https://ilinkai.weixin.qq.com", BotID: m.b.ID, UserID: m.b.Owner}.Format()
	if err != nil {
		return err
	}
	return credential.In(home).Save("wechat", "default", saved)
}

func (m *inWeChat) say(_ *testing.T, _ *talk, l line) string {
	who := m.b.Owner
	if l.stranger {
		who = wechatStranger
	}
	opts := []wechattest.Option{wechattest.At(m.p.Now().Add(l.at))}
	if l.group {
		opts = append(opts, wechattest.InGroup(wechatGroup))
	}
	if l.quotes != "" {
		opts = append(opts, wechattest.QuoteID(l.quotes))
	}
	return m.p.Say(m.b.ID, who, l.text, opts...)
}

func (m *inWeChat) taken(id string) bool { return m.p.Acked(id) }

func (m *inWeChat) heard(t *testing.T, _ *talk) (all []heard) {
	for _, s := range m.p.Sent() {
		if s.Dropped {
			t.Errorf("spent on a token that was used up: %+v", s)
		}
		all = append(all, heard{s.MessageID, s.ReplyTo, s.Text, s.To == wechatStranger && s.Group == "", s.Group != ""})
	}
	return all
}

func (m *inWeChat) skew(by time.Duration) { m.p.Skew(by) }

func (m *inWeChat) refuse() { m.p.Inject(wechattest.Fault{Route: wechattest.Send, Ret: -2}) }

func (m *inWeChat) end() { m.p.Expire(m.b.ID) }

func (m *inWeChat) renew() {
	m.b.Token = "signed-in-again"
	m.b = m.p.AddBot(m.b)
}

func (m *inWeChat) asked() int {
	return len(m.p.Requests(wechattest.Config)) + len(m.p.Requests(wechattest.Updates)) + len(m.p.Requests(wechattest.Send))
}

// onThisMachine is the chat of a terminal, which knows its owner alone.
type onThisMachine struct{ said int }

func (m *onThisMachine) id() string          { return defaultLocal }
func (m *onThisMachine) owner() string       { return localOwner() }
func (m *onThisMachine) bot() string         { return "" }
func (m *onThisMachine) can() abilities      { return abilities{} }
func (m *onThisMachine) config() string      { return "" }
func (m *onThisMachine) signIn(string) error { return nil }

func (m *onThisMachine) say(t *testing.T, k *talk, l line) string {
	t.Helper()
	m.said++
	id := "said-" + strconv.Itoa(m.said)
	_, err := k.c.ChatSend(t.Context(), wire.ChatSend{Account: "default", ID: id, Text: l.text})
	must(t, err)
	return id
}

func (m *onThisMachine) taken(string) bool { return true } // say has waited for it

func (m *onThisMachine) heard(t *testing.T, k *talk) (all []heard) {
	t.Helper()
	must(t, k.store.View(func(v *store.View) error {
		for _, row := range v.ChatLines(defaultLocal, 0, 1000) {
			if l := row.ChatLine; l.Kind != wire.ChatOwner {
				all = append(all, heard{id: strconv.FormatUint(row.Seq, 10), replyTo: l.InReplyTo, text: l.Text})
			}
		}
		return nil
	}))
	return all
}

func (m *onThisMachine) skew(time.Duration) {}
func (m *onThisMachine) refuse()            {}
func (m *onThisMachine) end()               {}
func (m *onThisMachine) renew()             {}
func (m *onThisMachine) asked() int         { return 0 }
