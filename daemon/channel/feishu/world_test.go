package feishu

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
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
	t       *testing.T
	p       *feishutest.Platform
	app     feishutest.App
	chat    string // the owner's
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

// newWorld makes one whose platform pushes nothing again by itself, unless a test asks for that: what was missed must
// not come by such a push.
func newWorld(t *testing.T, options feishutest.Options) *world {
	if options.Repush == nil {
		options.Repush = []time.Duration{}
	}
	w := &world{t: t, p: feishutest.New(t, options)}
	w.app = w.p.App()
	w.chat = w.p.Direct(w.app.ID, w.app.Owner)
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
func (w *world) make(change ...func(*Options)) *Adapter {
	o := optionsFor(w.p, w.app, w.host())
	o.Log = slog.New(slog.NewTextHandler(w, nil))
	for _, c := range change {
		c(&o)
	}
	w.adapter = New(o)
	return w.adapter
}

// begin runs the attempt that make made.
func (w *world) begin() {
	var ctx context.Context
	ctx, w.end = context.WithCancel(w.t.Context())
	over := make(chan struct{})
	w.over, w.before = over, w.successes()
	go func() {
		defer close(over)
		w.err = w.adapter.Serve(ctx)
	}()
	w.t.Cleanup(func() { w.end(); <-over })
}

// start makes and runs an attempt, and waits until it has contact.
func (w *world) start() {
	w.t.Helper()
	w.make()
	w.begin()
	w.connected()
}

// connected waits for the contact of the present attempt.
func (w *world) connected() {
	w.t.Helper()
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

func (w *world) say(text string, opts ...feishutest.Option) string {
	return w.p.Say(w.chat, w.app.Owner, text, opts...)
}

func (w *world) send(out channel.Outgoing) (channel.Receipt, error) {
	ctx, cancel := context.WithTimeout(w.t.Context(), limit)
	defer cancel()
	return w.adapter.Send(ctx, out)
}
