package feishutest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"scv/internal/loopback"
)

// Options is how a platform begins.
type Options struct {
	Apps      []App           // nil is one app
	Config    ClientConfig    // zero is the live platform's
	TokenLife time.Duration   // of a tenant token; 0 is two hours
	MaxConns  int             // sockets of one app; 0 is 50
	Repush    []time.Duration // waits before an unacknowledged event is pushed again; nil is the platform's
}

// ClientConfig is what the platform tells a client of its connection, in seconds.
type ClientConfig struct {
	ReconnectCount    int `json:"ReconnectCount"`
	ReconnectInterval int `json:"ReconnectInterval"`
	ReconnectNonce    int `json:"ReconnectNonce"`
	PingInterval      int `json:"PingInterval"`
}

// App is an app with its bot. What is empty is filled in.
type App struct {
	ID     string
	Secret string
	Brand  string // Feishu or Lark
	Name   string // the bot's
	BotID  string // the bot's open_id
	Owner  string // open_id of who made it

	// Groups: the bot hears all of its groups and not only what mentions it.
	Groups bool
}

// Platform is a running fake. Its methods may be called from any goroutine.
type Platform struct {
	*loopback.Server
	loopback.World
	opts Options

	mu   sync.Mutex
	last int // number of the last id

	apps     []*App
	tokens   map[string]token
	tickets  map[string]string // one-time key of a socket → app id
	chats    []*chat
	names    map[string]string // open_id → name
	messages []*message
	byID     map[string]*message
	stored   map[string]*blob
	uuids    map[string]accepted
	sent     []Sent
	reacted  []Reaction

	sockets    []*socket
	deliveries map[string]*delivery // by message_id of its frames
	pushes     map[string]int       // by message_id of im
	taken      map[string]bool      // by message_id of im
	acks       []Ack
	pings      map[string]int

	sign     *signIn
	faults   []*Fault
	requests []Request
}

// Start starts a platform that Close ends.
func Start(opts Options) (*Platform, error) {
	if opts.Config == (ClientConfig{}) {
		opts.Config = ClientConfig{ReconnectCount: -1, ReconnectInterval: 120, ReconnectNonce: 30, PingInterval: 90}
	}
	if opts.TokenLife == 0 {
		opts.TokenLife = 2 * time.Hour
	}
	if opts.MaxConns == 0 {
		opts.MaxConns = 50
	}
	if opts.Repush == nil {
		opts.Repush = []time.Duration{15 * time.Second, 5 * time.Minute, time.Hour, 6 * time.Hour}
	}
	if opts.Apps == nil {
		opts.Apps = []App{{}}
	}
	p := &Platform{
		opts: opts, tokens: map[string]token{}, tickets: map[string]string{},
		names: map[string]string{}, stored: map[string]*blob{}, uuids: map[string]accepted{}, pings: map[string]int{},
		byID: map[string]*message{}, deliveries: map[string]*delivery{}, pushes: map[string]int{}, taken: map[string]bool{},
	}
	for _, app := range opts.Apps {
		p.AddApp(app)
	}
	server, err := loopback.Start(p.routes(), domains[Feishu], domains[Lark])
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
