package wechat

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
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
	t       *testing.T
	p       *wechattest.Platform
	bot     wechattest.Bot
	adapter *Adapter
	over    chan struct{} // closed when the attempt has ended
	end     context.CancelFunc
	before  int   // successes when it began
	err     error // how it ended

	mu       sync.Mutex
	full     bool // nothing can be kept
	batches  [][]channel.Message
	cursor   string
	contacts []string // "" is a success
	log      strings.Builder
}

func newWorld(t *testing.T, options wechattest.Options) *world {
	if options.Hold == 0 {
		options.Hold = hold
	}
	w := &world{t: t, p: wechattest.New(t, options)}
	w.bot = w.p.Bot()
	return w
}

func (w *world) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(b)
}

func (w *world) host() channel.Host {
	return channel.Host{
		ReceiveTo: func(_ context.Context, batch []channel.Message, cursor string) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.full {
				return errors.New("the disk is full")
			}
			w.batches, w.cursor = append(w.batches, batch), cursor
			return nil
		},
		Cursor: func() (string, error) { w.mu.Lock(); defer w.mu.Unlock(); return w.cursor, nil },
		Contact: func(err error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if err == nil {
				w.contacts = append(w.contacts, "")
			} else {
				w.contacts = append(w.contacts, err.Error())
			}
		},
	}
}

// make makes the next attempt.
func (w *world) make(change ...func(*Adapter)) *Adapter {
	o := optionsFor(w.p, w.bot, w.host())
	o.Log = slog.New(slog.NewTextHandler(w, nil))
	w.adapter = New(o)
	w.adapter.rhythm = quick
	for _, c := range change {
		c(w.adapter)
	}
	return w.adapter
}

// begin runs the attempt that make made.
func (w *world) begin() {
	var ctx context.Context
	ctx, w.end = context.WithCancel(w.t.Context())
	over, a := make(chan struct{}), w.adapter
	w.over, w.before = over, w.successes()
	go func() {
		defer close(over)
		w.err = a.Serve(ctx)
	}()
	w.t.Cleanup(func() { w.end(); <-over })
}

// start makes and runs an attempt, and waits until it has contact.
func (w *world) start(change ...func(*Adapter)) {
	w.t.Helper()
	w.make(change...)
	w.begin()
	w.until("a contact", func() bool { return w.successes() > w.before })
}

func (w *world) successes() (n int) {
	for _, c := range w.heard() {
		if c == "" {
			n++
		}
	}
	return n
}

func (w *world) heard() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.contacts)
}

// hears waits for a contact that failed so.
func (w *world) hears(what string) {
	w.t.Helper()
	w.until(what, func() bool {
		return slices.ContainsFunc(w.heard(), func(c string) bool { return strings.Contains(c, what) })
	})
}

// ended waits until the attempt has ended by itself.
func (w *world) ended() error {
	w.t.Helper()
	select {
	case <-w.over:
	case <-time.After(limit):
		w.t.Fatalf("the attempt does not end; contacts %q", w.heard())
	}
	return w.err
}

func (w *world) stop() {
	w.t.Helper()
	w.end()
	if err := w.ended(); err != nil {
		w.t.Errorf("the attempt ends with %v", err)
	}
}

// taken are the messages in the order they came, each once as the daemon would have it.
func (w *world) taken() (all []channel.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	known := map[string]bool{}
	for _, batch := range w.batches {
		for _, m := range batch {
			if !known[m.ID] {
				known[m.ID] = true
				all = append(all, m)
			}
		}
	}
	return all
}

func (w *world) texts() (texts []string) {
	for _, m := range w.taken() {
		texts = append(texts, m.Text)
	}
	return texts
}

func (w *world) until(what string, ok func() bool) {
	w.t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("waited %v in vain: %s; contacts %q; log:\n%s", limit, what, w.heard(), w.logged())
		}
	}
}

func (w *world) logged() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.String()
}

// await waits for n messages.
func (w *world) await(n int) []channel.Message {
	w.t.Helper()
	w.until("messages", func() bool { return len(w.taken()) >= n })
	return w.taken()
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
