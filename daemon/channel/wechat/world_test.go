package wechat

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"scv/daemon/channel"
	"scv/daemon/channel/channeltest"
	"scv/daemon/channel/wechat/wechattest"
)

func TestMain(m *testing.M) {
	if os.Getenv(apartMode) != "" {
		if err := beApart(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

const limit = 30 * time.Second

// quick is a rhythm for tests: nothing waits long, and nothing is given up early.
var quick = rhythm{
	poll: limit, grace: limit, soonest: time.Millisecond, retry: 5 * time.Millisecond, slow: 50 * time.Millisecond,
	probe: limit, typing: 5 * time.Millisecond, hush: limit,
}

const hold = 50 * time.Millisecond // of a poll without news

func optionsFor(p *wechattest.Platform, bot wechattest.Bot, host channel.Host) Options {
	return Options{
		Account:     channel.Account{Channel: "wechat", Name: "default", OwnerID: bot.Owner},
		Credentials: Credentials{Token: bot.Token, BaseURL: publicAPI, BotID: bot.ID, UserID: bot.Owner},
		Host:        host, HTTP: p.Client(), Log: slog.New(slog.DiscardHandler),
	}
}

func TestConformance(t *testing.T) {
	channeltest.Run(t, func(t *testing.T, host channel.Host) channeltest.Subject {
		p := wechattest.New(t, wechattest.Options{Hold: 2 * time.Millisecond}) // a thousand times
		bot := p.Bot()
		a := New(optionsFor(p, bot, host))
		a.rhythm = quick
		a.retry = time.Millisecond
		return channeltest.Subject{
			Adapter: a, Chat: bot.Owner,
			Write:        func(id, text string) { p.Say(bot.ID, bot.Owner, text, wechattest.ID(id)) },
			Acknowledged: p.Acked,
			Cut: func() bool {
				p.Inject(wechattest.Fault{Route: wechattest.Updates, Cut: true}, wechattest.Fault{Route: wechattest.Send, Cut: true})
				p.Release()
				return true
			},
			Shown: func() []string { return p.Shown(bot.ID, bot.Owner) },
			WriteFile: func(id string, kind channel.FileKind, name string, content []byte) {
				p.Say(bot.ID, bot.Owner, "", wechattest.ID(id+name), fileOf(kind, name, content))
			},
			Lose: func() { p.Inject(wechattest.Fault{Route: wechattest.Download, Status: 404, Times: -1}) },
			ShownFiles: func() (contents []string) {
				for _, s := range p.Sent() {
					if s.File != nil && !s.Dropped {
						contents = append(contents, string(s.File.Data))
					}
				}
				return contents
			},
		}
	})
}

// fileOf is a message with a file of that kind.
func fileOf(kind channel.FileKind, name string, content []byte) wechattest.Option {
	switch kind {
	case channel.Image:
		return wechattest.Image(content)
	case channel.Video:
		return wechattest.Video(content)
	case channel.Voice:
		return wechattest.Voice(content, "")
	}
	return wechattest.File(name, content)
}

// world is an adapter on a fake platform, with a host that keeps what it is given.
type world struct {
	*channeltest.Home
	t       *testing.T
	p       *wechattest.Platform
	bot     wechattest.Bot
	adapter *Adapter
}

func newWorld(t *testing.T, options wechattest.Options) *world {
	if options.Hold == 0 {
		options.Hold = hold
	}
	w := &world{Home: channeltest.NewHome(t), t: t, p: wechattest.New(t, options)}
	w.bot = w.p.Bot()
	return w
}

// make makes the next attempt.
func (w *world) make(change ...func(*Adapter)) *Adapter {
	o := optionsFor(w.p, w.bot, w.Host())
	o.Log = w.Log()
	w.adapter = New(o)
	w.adapter.rhythm = quick
	for _, c := range change {
		c(w.adapter)
	}
	return w.adapter
}

// start makes and runs an attempt, and waits until it has contact.
func (w *world) start(change ...func(*Adapter)) {
	w.t.Helper()
	w.make(change...)
	w.Begin(w.adapter.Serve)
	w.Connected()
}

// say writes as the owner.
func (w *world) say(text string, opts ...wechattest.Option) string {
	return w.p.Say(w.bot.ID, w.bot.Owner, text, opts...)
}

func (w *world) send(out channel.Outgoing) (channel.Receipt, error) {
	ctx, cancel := context.WithTimeout(w.t.Context(), limit)
	defer cancel()
	return w.adapter.Send(ctx, out)
}

// answer is a part of an answer to a message.
func (w *world) answer(id string, m channel.Message, text string) channel.Outgoing {
	return channel.Outgoing{
		ClientID: id, Chat: m.Chat, Kind: channel.Reply, Text: text, InReplyTo: m.ID, ReplyHandle: m.ReplyHandle, First: true, Last: true,
	}
}
