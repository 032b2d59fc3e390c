// Package outbox delivers what is durable: replies, notices and questions, one first-in-first-out queue
// per account, each part until the platform has accepted or finally refused it. Nobody sends by any
// other way. It holds no message in memory: the store is the queue, a wake carries no data.
package outbox

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"scv/daemon/channel"
	"scv/daemon/media"
	"scv/store"
)

// Bounds of one delivery (docs/rules.md §9): quick tries first, then doubling, for ever.
const (
	sendTimeout = 60 * time.Second
	fileTimeout = 180 * time.Second // of a part that is a file
	firstDelay  = time.Second
	maxDelay    = 60 * time.Second
	fileTries   = 3               // in vain, before a file lets the others pass
	lookAgain   = 2 * time.Second // for an account whose adapter was not there yet
	dropAtOnce  = 64              // questions that nobody wants asked any more
)

// Questions is what the outbox must know of a question whose text it delivers. Each is called inside
// the transaction that records the same step.
type Questions interface {
	// Attempt is called before a send is begun; false drops the text unsent.
	Attempt(tx *store.Delivery, id string) (bool, error)
	// Accepted opens the question, by the platform's own receipt for its text.
	Accepted(tx *store.Delivery, id string, r channel.Receipt) error
	// Refused says that the platform will never take the text.
	Refused(tx *store.Delivery, id string) error
}

// Options is what the daemon hands in.
type Options struct {
	Store     *store.Store
	Log       *slog.Logger
	Adapter   func(account string) (channel.Adapter, bool)
	Questions Questions
	Media     media.Folders // where our copies of files are
	// Marks is how an account needs the words of one message marked that are of several kinds; nil for not.
	Marks func(account string) func(kind channel.Kind, text string) string
	// Delivered is called after a part's acceptance is committed.
	Delivered func(account string, out channel.Outgoing, receipt channel.Receipt)
}

// Outbox runs one worker per account that has something to send.
type Outbox struct {
	o       Options
	wake    chan struct{}
	mu      sync.Mutex
	working map[string]bool
	workers sync.WaitGroup
}

// New makes the outbox.
func New(o Options) *Outbox {
	return &Outbox{o: o, wake: make(chan struct{}, 1), working: map[string]bool{}}
}

// Wake makes Run look at the queues now.
func (b *Outbox) Wake() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Run delivers until ctx ends, then waits for the sends under way.
func (b *Outbox) Run(ctx context.Context) error {
	defer b.workers.Wait()
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		b.look(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-b.wake:
		case <-tick.C:
		}
	}
}

func (b *Outbox) look(ctx context.Context) {
	var accounts []string
	err := b.o.Store.View(func(v *store.View) error {
		accounts = v.OutboxAccounts()
		return nil
	})
	if err != nil {
		b.o.Log.Error("cannot read the outbox", "err", err)
		return
	}
	for _, account := range accounts {
		if _, there := b.o.Adapter(account); there && b.begin(account) {
			b.workers.Go(func() {
				b.drain(ctx, account)
				b.end(account)
			})
		}
	}
}

func (b *Outbox) begin(account string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.working[account] {
		return false
	}
	b.working[account] = true
	return true
}

// end also wakes Run: what was queued between the worker's last look and now must not wait for a tick.
func (b *Outbox) end(account string) {
	b.mu.Lock()
	delete(b.working, account)
	b.mu.Unlock()
	if _, more, err := b.head(account); err == nil && more {
		if _, there := b.o.Adapter(account); there {
			b.Wake()
		}
	}
}
