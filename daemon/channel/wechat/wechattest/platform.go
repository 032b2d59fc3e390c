package wechattest

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"scv/internal/loopback"
)

// Options is how a platform begins.
type Options struct {
	Bots    []Bot         // nil is one bot
	Hold    time.Duration // how long a poll without news is held; 0 is 35 s
	Batch   int           // the most messages in one answer; 0 is 100
	Bare    bool          // a file is named by its parameter alone, without a full URL
	Forgets bool          // a client_id that comes again is a new message
	Silent  bool          // a message that was accepted is answered {}, without its id
}

// Bot is one bot, which belongs to whoever scanned its code. What is empty is filled in.
type Bot struct {
	ID    string // ilink_bot_id
	Token string // bot_token
	Owner string // ilink_user_id
}

// Platform is a running fake. Its methods may be called from any goroutine.
type Platform struct {
	*loopback.Server
	loopback.World
	opts Options

	mu   sync.Mutex
	last uint64 // number of the last id

	bots     []*Bot
	messages []*message
	handles  map[string]*handle   // by context_token
	clients  map[string]*accepted // by bot and client_id
	sent     []Sent
	typing   []Typing
	tickets  map[string]ticket
	uploads  map[string]*upload // by upload_param
	blobs    map[string]*blob   // by download parameter
	polling  map[string]int     // open polls by bot
	released int                // how often all polls were
	started  map[string]int     // how often a client told that it starts, less how often that it stops

	sign     *signIn
	faults   []*Fault
	requests []Request
}

// Start starts a platform that Close ends.
func Start(opts Options) (*Platform, error) {
	if opts.Hold == 0 {
		opts.Hold = 35 * time.Second
	}
	if opts.Batch == 0 {
		opts.Batch = 100
	}
	if opts.Bots == nil {
		opts.Bots = []Bot{{}}
	}
	p := &Platform{
		opts: opts, last: firstID, handles: map[string]*handle{},
		clients: map[string]*accepted{}, tickets: map[string]ticket{}, uploads: map[string]*upload{},
		blobs: map[string]*blob{}, polling: map[string]int{}, started: map[string]int{},
	}
	for _, b := range opts.Bots {
		p.AddBot(b)
	}
	server, err := loopback.Start(p.routes(), "qq.com", "weixin.qq.com", "cdn.weixin.qq.com")
	if err != nil {
		return nil, fmt.Errorf("cannot start a fake platform: %w", err)
	}
	p.Server = server
	return p, nil
}

// New starts a platform for a test, which fails for every complaint.
func New(t testing.TB, opts Options) *Platform {
	t.Helper()
	p, err := Start(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Close()
		for _, complaint := range p.Complaints() {
			t.Errorf("the platform complains: %s", complaint)
		}
	})
	return p
}

// firstID is what ids are counted from: none of them is exact as a float.
const firstID = 1<<62 + 1

// change changes what the platform knows and wakes whoever waits for it.
func (p *Platform) change(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do()
	p.Changed()
}

// Functions whose names begin in lower case are called with mu held, except where they say otherwise.
func (p *Platform) newID(prefix string) string {
	p.last++
	return fmt.Sprintf("%s%016x", prefix, p.last)
}

// AddBot makes one more bot and returns it with all its fields.
func (p *Platform) AddBot(b Bot) Bot {
	p.change(func() { p.addBot(&b) })
	return b
}

func (p *Platform) addBot(b *Bot) {
	p.last++
	for _, f := range []struct {
		field          *string
		prefix, suffix string
	}{{&b.ID, "bot", "@im.bot"}, {&b.Token, "token", ""}, {&b.Owner, "owner", "@im.wechat"}} {
		if *f.field == "" {
			*f.field = fmt.Sprintf("%s%x%s", f.prefix, p.last, f.suffix)
		}
	}
	made := *b
	for _, known := range p.bots {
		if known.ID == b.ID {
			*known = made
			return
		}
	}
	p.bots = append(p.bots, &made)
}

// Bot is the first bot.
func (p *Platform) Bot() Bot { return p.Bots()[0] }

// Bots are all of them, in the order they were made.
func (p *Platform) Bots() (all []Bot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.bots {
		all = append(all, *b)
	}
	return all
}

// Expire ends a bot's session: from now on its token is not taken, as after a new sign-in elsewhere.
func (p *Platform) Expire(botID string) {
	p.change(func() {
		for _, b := range p.bots {
			if b.ID == botID {
				b.Token = p.newID("expired")
			}
		}
	})
}

// bot is whose token it is, nil for nobody's.
func (p *Platform) bot(r *http.Request) *Bot {
	for _, b := range p.bots {
		if r.Header.Get("Authorization") == "Bearer "+b.Token {
			return b
		}
	}
	return nil
}
