// Package channeltest is what every adapter must hold, as one suite of tests. An adapter's own tests run
// it over the adapter and a fake of its platform:
//
//	channeltest.Run(t, func(t *testing.T, host channel.Host) channeltest.Subject { … })
//
// Only tests come in.
package channeltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"scv/daemon/channel"
)

// Subject is an adapter under test, and what the suite does with the platform behind it. Its functions
// may be called from any goroutine.
type Subject struct {
	Adapter channel.Adapter
	Chat    string // the owner's, as the daemon would name it
	// Write makes the owner write on the platform: in the order of its calls, each with an id of its
	// own. It does not wait for the adapter, which may be down.
	Write func(id, text string)
	// Acknowledged reports whether the platform may believe that a message was taken.
	Acknowledged func(id string) bool
	// Shown are the texts that the owner sees, in order.
	Shown func() []string
	// Cut breaks the connection that there is, and reports whether there was one. Nil: the channel has none.
	Cut func() bool

	// Of a Carrier. WriteFile is Write with a file in place of the text, Lose makes the platform forget all files,
	// and ShownFiles are what the files hold that the owner sees, in order.
	WriteFile  func(id string, kind channel.FileKind, name string, content []byte)
	Lose       func()
	ShownFiles func() []string
}

// Make makes an adapter that speaks to host. What it needs is cleaned up by t.
type Make func(t *testing.T, host channel.Host) Subject

const (
	grace = 5 * time.Second // an adapter must stop within it (docs/rules.md §3)
	limit = time.Minute     // of every other wait; it is never used up when all is well
)

// Run runs the suite.
func Run(t *testing.T, make Make) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, *bench)
	}{
		{"a file that came is fetched whole", fetched},
		{"no more is fetched than was asked for", fetchedWithin},
		{"a file that is gone is refused", fetchedTooLate},
		{"a fetch is given up with its context", fetchGivenUp},
		{"a file that fails to be written", fetchedToNowhere},
		{"files are shown in order, with texts between", filesSent},
		{"a file sent again is shown once", fileSentAgain},
		{"a file as large as is taken", largestFile},
		{"serve ends with its context", serveEnds},
		{"contact is reported", contact},
		{"messages arrive once and in order", messages},
		{"a message is acknowledged only when it is durable", acknowledged},
		{"a message that was not taken comes again", redelivered},
		{"stop during a receive", stopDuringReceive},
		{"what was written while it was down comes first", caughtUp},
		{"parts are shown in order", parts},
		{"a part sent again is shown once", sentAgain},
		{"parts sent side by side", sideBySide},
		{"a send is given up with its context", sendGivenUp},
		{"parts have a size", size},
		{"a thousand lost connections leave nothing behind", lostConnections},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := &bench{t: t, contacts: newEvents[error]()}
			b.receive = b.take
			b.Subject = make(t, b.host())
			test.run(t, b)
		})
	}
}

// bench is one adapter with a host that takes what it is given.
type bench struct {
	Subject
	t        *testing.T
	receive  func(ctx context.Context, batch []channel.Message) error // changed only before serve
	contacts *events[error]

	mu     sync.Mutex
	taken  []channel.Message
	cursor string
}

// host is what the daemon would give an adapter. The cursor moves only with what was taken.
func (b *bench) host() channel.Host {
	return channel.Host{
		Receive: func(ctx context.Context, batch []channel.Message) error { return b.receive(ctx, batch) },
		ReceiveTo: func(ctx context.Context, batch []channel.Message, cursor string) error {
			if len(batch) > 0 {
				if err := b.receive(ctx, batch); err != nil {
					return err
				}
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			b.cursor = cursor
			return nil
		},
		Cursor: func() (string, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			return b.cursor, nil
		},
		Contact: b.contacts.add,
	}
}

func (b *bench) take(_ context.Context, batch []channel.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken = append(b.taken, batch...)
	return nil
}

func (b *bench) texts() (texts []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.taken {
		texts = append(texts, m.Text)
	}
	return texts
}

// serve runs the adapter and waits until it has contact. stop ends it and waits for that.
func (b *bench) serve() (stop func()) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Adapter.Serve(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				b.t.Errorf("Serve ends with %v", err)
			}
		case <-time.After(grace):
			b.t.Errorf("Serve does not end within %v", grace)
		}
	})
	b.t.Cleanup(stop)
	until(b.t, "a contact", func() bool { return slices.Contains(b.contacts.all(), nil) })
	return stop
}

func (b *bench) send(id, text string) channel.Receipt {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	receipt, err := b.Adapter.Send(ctx, b.outgoing(id, text))
	if err != nil {
		b.t.Fatalf("Send: %v", err)
	}
	return receipt
}

func (b *bench) outgoing(id, text string) channel.Outgoing {
	return channel.Outgoing{ClientID: id, Chat: b.Chat, Kind: channel.Reply, Text: text, First: true, Last: true}
}

// events is a list that grows.
type events[T any] struct {
	mu   sync.Mutex
	list []T
}

func newEvents[T any]() *events[T] { return &events[T]{} }

func (e *events[T]) add(v T) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, v)
}

func (e *events[T]) clear() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = nil
}

func (e *events[T]) all() []T {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.list)
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %v in vain: %s", limit, what)
		}
	}
}

var errFull = errors.New("the disk is full")

func numbered(n int) (texts []string) {
	for i := range n {
		texts = append(texts, fmt.Sprint("message ", i))
	}
	return texts
}
