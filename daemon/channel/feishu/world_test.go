package feishu

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"

	"scv/daemon/channel"
	"scv/daemon/channel/channeltest"
	"scv/daemon/channel/feishu/feishutest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const limit = 20 * time.Second

// optionsFor makes an adapter's options for an app of a fake platform.
func optionsFor(p *feishutest.Platform, app feishutest.App, host channel.Host) Options {
	return Options{
		Account:     channel.Account{Channel: "feishu", Name: "default", OwnerID: app.Owner},
		Credentials: Credentials{AppID: app.ID, AppSecret: app.Secret, Brand: Brand(app.Brand), OwnerOpenID: app.Owner},
		Host:        host, HTTP: p.Client(), Platform: Public(Brand(app.Brand)), Log: slog.New(slog.DiscardHandler),
	}
}

func TestConformance(t *testing.T) {
	channeltest.Run(t, func(t *testing.T, host channel.Host) channeltest.Subject {
		p := feishutest.New(t, feishutest.Options{})
		app := p.App()
		chat := p.Direct(app.ID, app.Owner)
		return channeltest.Subject{
			Adapter: New(optionsFor(p, app, host)), Chat: app.Owner,
			Write: func(id, text string) { p.Say(chat, app.Owner, text, feishutest.ID(id)) },
			// What was sent while nothing was connected is never pushed, so nothing can be acknowledged.
			Acknowledged: p.Acked,
			Cut:          func() bool { return p.Kick(app.ID) > 0 },
			Shown: func() (texts []string) {
				for _, s := range p.Sent() {
					texts = append(texts, s.Text)
				}
				return texts
			},
			WriteFile: func(id string, kind channel.FileKind, name string, content []byte) {
				p.Say(chat, app.Owner, "", feishutest.ID(id+name), fileOf(kind, name, content))
			},
			Lose: func() {
				p.Inject(feishutest.Fault{Route: feishutest.Resource, Status: 400, Code: 234003, Times: -1})
			},
			ShownFiles: func() (contents []string) {
				for _, s := range p.Sent() {
					if key := keyOf(s.Content); key != "" {
						contents = append(contents, string(p.Blob(key)))
					}
				}
				return contents
			},
		}
	})
}

// fileOf is a message with a file of that kind.
func fileOf(kind channel.FileKind, name string, content []byte) feishutest.Option {
	switch kind {
	case channel.Image:
		return feishutest.Image(content)
	case channel.Video:
		return feishutest.Video(name, content)
	case channel.Voice:
		return feishutest.Audio(content)
	}
	return feishutest.File(name, content)
}

// keyOf is the key of the file that a message shows, "" for none.
func keyOf(content string) string {
	var c struct {
		ImageKey string `json:"image_key"`
		FileKey  string `json:"file_key"`
	}
	_ = channel.ReadJSON([]byte(content), &c)
	return c.ImageKey + c.FileKey
}

// world is an adapter on a fake platform, with a host that keeps what it is given.
type world struct {
	*channeltest.Home
	t       *testing.T
	p       *feishutest.Platform
	app     feishutest.App
	chat    string // the owner's
	adapter *Adapter
}

// newWorld makes one whose platform pushes nothing again by itself, unless a test asks for that: what was missed must
// not come by such a push.
func newWorld(t *testing.T, options feishutest.Options) *world {
	if options.Repush == nil {
		options.Repush = []time.Duration{}
	}
	w := &world{Home: channeltest.NewHome(t), t: t, p: feishutest.New(t, options)}
	w.app = w.p.App()
	w.chat = w.p.Direct(w.app.ID, w.app.Owner)
	return w
}

// make makes the next attempt.
func (w *world) make(change ...func(*Options)) *Adapter {
	o := optionsFor(w.p, w.app, w.Host())
	o.Log = w.Log()
	for _, c := range change {
		c(&o)
	}
	w.adapter = New(o)
	return w.adapter
}

// start makes and runs an attempt, and waits until it has contact.
func (w *world) start() {
	w.t.Helper()
	w.make()
	w.Begin(w.adapter.Serve)
	w.Connected()
}

func (w *world) say(text string, opts ...feishutest.Option) string {
	return w.p.Say(w.chat, w.app.Owner, text, opts...)
}

func (w *world) send(out channel.Outgoing) (channel.Receipt, error) {
	ctx, cancel := context.WithTimeout(w.t.Context(), limit)
	defer cancel()
	return w.adapter.Send(ctx, out)
}
