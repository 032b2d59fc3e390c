// Package local is the built-in chat: the owner types into a terminal of this machine, and whoever may
// open the daemon's socket is that owner. It has no platform behind it. What it shows is kept by the
// daemon, so that a terminal that attaches late, or after a crash, misses nothing.
package local

import (
	"context"
	"errors"
	"sync"
	"time"

	"scv/daemon/channel"
)

// Chat is the one chat of every local account.
const Chat = "local"

// maxText is the largest part: an answer is cut at 64 KiB before it comes here, so it stays whole.
const maxText = 96 << 10

// ErrNotRunning says that the account is not running, so nobody takes the message.
var ErrNotRunning = errors.New("the local chat is not running")

// Show keeps one outgoing part where terminals find it. The same ClientID twice is one line.
type Show func(ctx context.Context, out channel.Outgoing) (channel.Receipt, error)

// Adapter is one running local account.
type Adapter struct {
	account channel.Account
	host    channel.Host
	show    Show

	mu      sync.Mutex
	serving context.Context // of Serve; nil while it does not run
	saying  sync.WaitGroup  // messages on their way to Receive
}

// New makes the adapter of account.
func New(account channel.Account, host channel.Host, show Show) *Adapter {
	return &Adapter{account: account, host: host, show: show}
}

// Serve takes messages until ctx ends, and then waits for those on their way. There is no platform to
// lose.
func (a *Adapter) Serve(ctx context.Context) error {
	a.begin(ctx)
	a.host.Contact(nil)
	<-ctx.Done()
	a.end()
	a.saying.Wait()
	return nil
}

func (a *Adapter) begin(ctx context.Context) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.serving = ctx
}

func (a *Adapter) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.serving = nil
}

// Said is what the owner typed.
type Said struct {
	ID       string // chosen by the sender
	Text     string
	At       time.Time // when the daemon read it
	Terminal bool      // typed at a terminal, not piped by a program
}

// Say hands over what the owner typed and returns once it is durable. It gives up when ctx ends, or when
// Serve is to end.
func (a *Adapter) Say(ctx context.Context, said Said) error {
	serving := a.enter()
	if serving == nil {
		return ErrNotRunning
	}
	defer a.saying.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(serving, cancel)()
	return a.host.Receive(ctx, []channel.Message{{
		ID: said.ID, Chat: Chat, Sender: a.account.OwnerID, Direct: true, Text: said.Text,
		SentAt: said.At, Terminal: said.Terminal,
	}})
}

// enter counts a message in while Serve runs, and gives Serve's context; nil when it does not run.
func (a *Adapter) enter() context.Context {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.serving != nil {
		a.saying.Add(1)
	}
	return a.serving
}

// Send shows one part. It is accepted when it is kept.
func (a *Adapter) Send(ctx context.Context, out channel.Outgoing) (channel.Receipt, error) {
	return a.show(ctx, out)
}

// MaxText is the largest part in bytes.
func (a *Adapter) MaxText() int { return maxText }
