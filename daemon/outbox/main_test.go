package outbox

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"scv/daemon/channel"
	"scv/daemon/media"
	"scv/internal/clock"
	"scv/store"
	"scv/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// platform is one account's adapter: it answers as it is told and remembers what it was handed.
type platform struct {
	mu     sync.Mutex
	max    int
	most   int64 // bytes of a file; 0: it carries none
	answer func(ctx context.Context, out channel.Outgoing) (channel.Receipt, error)
	tried  []channel.Outgoing
	times  []time.Time
}

func (p *platform) Serve(context.Context) error { panic("not the outbox's to call") }
func (p *platform) MaxText() int                { return p.max }

func (p *platform) Send(ctx context.Context, out channel.Outgoing) (channel.Receipt, error) {
	p.mu.Lock()
	p.tried, p.times = append(p.tried, out), append(p.times, time.Now())
	answer := p.answer
	p.mu.Unlock()
	return answer(ctx, out)
}

// filer is a platform that carries files.
type filer struct{ *platform }

func (filer) Fetch(context.Context, channel.File, io.Writer, int64) error {
	panic("not the outbox's to call")
}
func (f filer) MaxUpload(channel.FileKind) int64 { return f.most }

func accept(_ context.Context, out channel.Outgoing) (channel.Receipt, error) {
	return channel.Receipt{MessageID: "of " + out.ClientID, At: time.Now()}, nil
}

func refuse(context.Context, channel.Outgoing) (channel.Receipt, error) {
	return channel.Receipt{}, fmt.Errorf("no such chat: %w", channel.ErrRefused)
}

func hang(ctx context.Context, _ channel.Outgoing) (channel.Receipt, error) {
	<-ctx.Done()
	return channel.Receipt{}, ctx.Err()
}

func (p *platform) become(answer func(context.Context, channel.Outgoing) (channel.Receipt, error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = answer
}

// texts are what the platform was handed so far; ids their client ids.
func (p *platform) texts() (texts []string) {
	return p.each(func(o channel.Outgoing) string { return o.Text })
}

func (p *platform) ids() []string {
	return p.each(func(o channel.Outgoing) string { return o.ClientID })
}

func (p *platform) handed() []channel.Outgoing {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.tried)
}

func (p *platform) each(field func(channel.Outgoing) string) (all []string) {
	for _, out := range p.handed() {
		all = append(all, field(out))
	}
	return all
}

// asked is the questions of the daemon as the outbox knows them.
type asked struct {
	mu       sync.Mutex
	unwanted bool
	calls    []string
}

func (q *asked) note(call, id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.calls = append(q.calls, call+" "+id)
}

func (q *asked) want(wanted bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.unwanted = !wanted
}

func (q *asked) heard() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.calls)
}

func (q *asked) Attempt(_ *store.Delivery, id string) (bool, error) {
	q.note("attempt", id)
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.unwanted, nil
}

func (q *asked) Accepted(_ *store.Delivery, id string, _ channel.Receipt) error {
	q.note("accepted", id)
	return nil
}

func (q *asked) Refused(_ *store.Delivery, id string) error {
	q.note("refused", id)
	return nil
}

// world is an outbox over a store, in virtual time, with two accounts.
type world struct {
	t         *testing.T
	path      string
	clk       *clock.Virtual
	store     *store.Store
	box       *Outbox
	questions *asked
	platforms map[string]*platform
	marks     func(channel.Kind, string) string // nil: the platforms show whose words they are
	stop      func()

	mu   sync.Mutex
	gone map[string]bool // accounts without a running adapter
	told []string        // of deliveries
}

func (w *world) setGone(account string, gone bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone[account] = gone
}

func (w *world) adapter(account string) (channel.Adapter, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.platforms[account].most > 0 {
		return filer{w.platforms[account]}, !w.gone[account]
	}
	return w.platforms[account], !w.gone[account]
}

func (w *world) onDelivered(account string, out channel.Outgoing, receipt channel.Receipt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if receipt.MessageID != "of "+out.ClientID {
		w.t.Errorf("delivered %q with receipt %+v", out.ClientID, receipt)
	}
	w.told = append(w.told, account+" "+out.ClientID)
}

func (w *world) delivered() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.told)
}

const (
	a = "local:default"
	b = "local:other"
)

// inBubble runs a test with a running outbox in virtual time.
func inBubble(t *testing.T, test func(w *world)) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := &world{
			t: t, path: filepath.Join(dir, "scv.db"), clk: clock.NewVirtual(), questions: &asked{}, gone: map[string]bool{},
			platforms: map[string]*platform{a: {max: 100, answer: accept}, b: {max: 100, answer: accept}},
		}
		w.run()
		test(w)
		w.stop()
	})
}

func (w *world) media() media.Folders { return media.In(filepath.Dir(w.path)) }

// run opens the store and runs an outbox; a second call is a restart.
func (w *world) run() {
	if w.stop != nil {
		w.stop()
		must(w.t, w.store.Close())
	}
	w.store = storetest.OpenAt(w.t, w.path, w.clk)
	w.box = New(Options{
		Store: w.store, Log: slog.New(slog.DiscardHandler), Questions: w.questions,
		Adapter: w.adapter, Delivered: w.onDelivered, Media: w.media(),
		Marks: func(string) func(channel.Kind, string) string { return w.marks },
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.box.Run(ctx) }()
	w.stop = func() {
		cancel()
		must(w.t, <-ended)
	}
}

// queue makes texts durable and waits until the outbox has nothing more to do at this moment.
func (w *world) queue(account string, all ...store.Outbound) {
	w.t.Helper()
	must(w.t, w.store.Deliver(context.Background(), func(tx *store.Delivery) error {
		for _, out := range all {
			out.Queued = w.clk.Now()
			if out.Kind == "" {
				out.Kind = string(channel.Reply)
			}
			if _, err := tx.AddOutbound(account, out); err != nil {
				return err
			}
		}
		return nil
	}))
	w.box.Wake()
	synctest.Wait()
}

func text(id, text string) store.Outbound {
	return store.Outbound{ClientID: id, Text: text, Chat: "c", Conversation: "c"}
}

// left are what waits and what is held, by client id.
func (w *world) left(account string) (waiting, held []string) {
	must(w.t, w.store.View(func(v *store.View) error {
		for _, row := range v.Outbox(account, 100) {
			waiting = append(waiting, row.Outbound.ClientID)
		}
		for _, row := range v.Held(account, "c") {
			held = append(held, row.Outbound.ClientID)
		}
		return nil
	}))
	return waiting, held
}

func (w *world) expect(what string, got []string, want ...string) {
	w.t.Helper()
	if !slices.Equal(got, want) {
		w.t.Errorf("%s: %q, want %q", what, got, want)
	}
}
