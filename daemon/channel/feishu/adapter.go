package feishu

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"scv/daemon/channel"
)

// Options is what an adapter is made of.
type Options struct {
	Account     channel.Account
	Credentials Credentials
	Host        channel.Host
	Log         *slog.Logger
	HTTP        *http.Client // shared by all accounts; see channel.NewHTTP
	Platform    Platform     // where the brand lives
}

// Adapter is one attempt of one account.
type Adapter struct {
	o   Options
	api *api
	rhythm
	learned chan owned // chats of the owner that a send has shown

	// Of the goroutine that serves.
	known    checkpoint
	before   map[string]place // chats as they were known when the connection came
	bot      string           // the bot's open_id, "" when it could not be asked
	assembly assembly
	roots    map[string]string // what threads began with, of some that were asked for

	mu     sync.Mutex
	end    context.CancelCauseFunc // of Serve; nil while it does not run
	socket *socket                 // nil while there is none
}

// owned is a direct chat with the owner, and when it was first known.
type owned struct {
	chat  string
	since time.Time
}

// New makes an adapter. It does nothing yet.
func New(o Options) *Adapter {
	return &Adapter{
		o: o, api: newAPI(o.HTTP, o.Platform, o.Credentials), rhythm: usualRhythm, learned: make(chan owned, 1),
	}
}

// MaxText is the largest part in bytes. The platform takes more; a person reads no more at once.
func (a *Adapter) MaxText() int { return 16 << 10 }

// Serve connects, takes what was missed, and then what comes, until the connection is lost or ctx ends.
func (a *Adapter) Serve(ctx context.Context) error {
	serving, end := context.WithCancelCause(ctx)
	a.set(end, nil)
	err := a.serve(serving)
	if cause := context.Cause(serving); cause != nil && ctx.Err() == nil {
		err = cause // what a send found out
	}
	end(nil)
	a.set(nil, nil)
	if ctx.Err() != nil {
		return nil
	}
	err = permanent(err)
	if _, final := errors.AsType[*channel.PermanentError](err); !final {
		a.o.Host.Contact(words(a.o.Credentials.Brand, err))
	}
	return err
}

func (a *Adapter) set(end context.CancelCauseFunc, s *socket) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.end, a.socket = end, s
}

func (a *Adapter) serve(ctx context.Context) error {
	cursor, err := a.o.Host.Cursor()
	if err != nil {
		return err
	}
	if a.known, err = parseCheckpoint(cursor); err != nil {
		a.o.Log.Warn("the checkpoint begins anew", "account", a.o.Account.ID(), "err", err)
	}
	if err := a.askBot(ctx); err != nil {
		return err
	}
	s, err := connect(ctx, a.api, a.rhythm)
	if err != nil {
		return err
	}
	a.mu.Lock()
	a.socket = s
	a.mu.Unlock()
	return a.attend(ctx, s)
}

type botAnswer struct {
	Bot struct {
		OpenID string `json:"open_id"`
	} `json:"bot"`
}

// askBot learns who the bot is. Without that, messages in groups go unanswered and all else works.
func (a *Adapter) askBot(ctx context.Context) error {
	asking, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	got, err := get[botAnswer](asking, a.api, "/open-apis/bot/v3/info", nil)
	if refusal, ok := errors.AsType[*answer](err); ok && refusal.fate == owner || ctx.Err() != nil {
		return err
	}
	if err != nil {
		a.o.Log.Warn("the bot's own id cannot be asked, so messages in groups go unanswered", "account", a.o.Account.ID(), "err", err)
	}
	a.bot = got.Bot.OpenID
	return nil
}

// attend keeps the connection alive, reads it, and handles what was missed and what comes.
func (a *Adapter) attend(ctx context.Context, s *socket) error {
	ctx, cancel := context.WithCancelCause(ctx)
	frames := make(chan frame, maxBatch)
	heard := make(chan struct{}, 1)
	var work sync.WaitGroup
	work.Go(func() { cancel(s.keepAlive(ctx)) })
	work.Go(func() {
		cancel(s.read(ctx, frames, func() {
			select {
			case heard <- struct{}{}:
			default:
			}
		}))
	})
	err := a.catchUp(ctx)
	if err == nil {
		work.Go(func() { a.tell(ctx, heard) })
		err = a.follow(ctx, s, frames)
	}
	cancel(err)
	s.close()
	work.Wait()
	return context.Cause(ctx)
}

// tell passes signs of life on, also while a batch waits for the disk.
func (a *Adapter) tell(ctx context.Context, heard <-chan struct{}) {
	for {
		select {
		case <-heard:
			a.o.Host.Contact(nil)
		case <-ctx.Done():
			return
		}
	}
}

// fail ends Serve with what a send found out.
func (a *Adapter) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.end != nil {
		a.end(err)
	}
}

// doubt says that a request did not reach the platform, and asks the connection for a sign of life.
func (a *Adapter) doubt(err error) {
	a.mu.Lock()
	s := a.socket
	a.mu.Unlock()
	if s != nil {
		a.o.Host.Contact(words(a.o.Credentials.Brand, err))
		s.poke()
	}
}

// take hands over what concerns the bot and moves the checkpoint past all of items. It tries until that is
// durable: only then may anybody acknowledge, and nothing newer may come before.
func (a *Adapter) take(ctx context.Context, items []item) error {
	if a.bot == "" && slices.ContainsFunc(items, item.calls) { // it could not be asked before
		if err := a.askBot(ctx); err != nil {
			return err
		}
	}
	batch := a.messages(ctx, items)
	for _, it := range items {
		a.known.note(it, a.o.Account.OwnerID, it.concerns(a.bot))
	}
	return a.keep(ctx, batch)
}

func (a *Adapter) keep(ctx context.Context, batch []channel.Message) error {
	cursor, err := a.known.format()
	if err != nil {
		return err
	}
	return a.o.Host.Keep(ctx, batch, cursor, func(err error, again time.Duration) {
		a.o.Log.Error("messages cannot be kept, trying again", "account", a.o.Account.ID(), "in", again, "err", err)
	})
}

// lookupBudget bounds all look-ups for one batch.
const lookupBudget = 20 * time.Second

func (a *Adapter) messages(ctx context.Context, items []item) (batch []channel.Message) {
	ctx, cancel := context.WithTimeout(ctx, lookupBudget)
	defer cancel()
	for _, it := range items {
		if it.concerns(a.bot) {
			batch = append(batch, a.message(ctx, it))
		}
	}
	return batch
}

// message is an item as the port has it. The owner's direct chat is named by the owner, since that is how
// one writes there first.
func (a *Adapter) message(ctx context.Context, it item) channel.Message {
	m := channel.Message{
		ID: it.id, Chat: it.chat, Sender: it.sender, Direct: it.direct, Thread: it.thread,
		ReplyHandle: it.id, SentAt: it.sent,
	}
	if it.direct {
		m.Chat = it.sender
	}
	text, files := renderer{it.mentions, a.bot}.render(it.kind, it.content)
	m.Text = text
	for _, f := range files {
		m.Files = append(m.Files, f.of(it.id))
	}
	if it.thread != "" { // there, parent and root only say which thread it is
		m.ReplyHandle = inThread + it.id
	} else {
		m.Quotes = it.parent
	}
	if !a.o.Account.Anyone && it.sender != a.o.Account.OwnerID { // nobody will read it
		return m
	}
	if it.kind == "merge_forward" {
		m.Text = a.bundle(ctx, it.id)
	}
	if it.thread != "" && it.root != "" && it.root != it.id {
		m.Root = a.rootOf(ctx, it)
	}
	if m.Quotes != "" {
		m.Quoted = a.quoted(ctx, m.Quotes)
	}
	return m
}

var _ channel.Carrier = (*Adapter)(nil)
