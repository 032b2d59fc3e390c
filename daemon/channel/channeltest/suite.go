package channeltest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"scv/daemon/channel"
)

func serveEnds(t *testing.T, b *bench) {
	b.serve()()
	if contacts := b.contacts.all(); len(contacts) == 0 || contacts[len(contacts)-1] != nil {
		t.Errorf("contacts %v: a stop is no failure", contacts)
	}
}

func contact(t *testing.T, b *bench) {
	if contacts := b.contacts.all(); len(contacts) != 0 {
		t.Errorf("contact before it runs: %v", contacts)
	}
	b.serve()
}

func messages(t *testing.T, b *bench) {
	b.serve()
	want := numbered(20)
	for _, text := range want {
		b.Write(text[len("message "):], text)
	}
	until(t, "all messages", func() bool { return len(b.texts()) >= len(want) })
	if got := b.texts(); !slices.Equal(got, want) {
		t.Errorf("messages %q", got)
	}
	ids := map[string]bool{}
	for _, m := range b.taken {
		if m.ID == "" || len(m.ID) > 256 || m.Chat == "" || m.Sender == "" || !m.Direct || ids[m.ID] {
			t.Errorf("message %+v", m)
		}
		ids[m.ID] = true
	}
}

func acknowledged(t *testing.T, b *bench) {
	inside, goOn := make(chan struct{}), make(chan struct{})
	b.receive = func(ctx context.Context, batch []channel.Message) error {
		close(inside)
		<-goOn
		return b.take(ctx, batch)
	}
	b.serve()
	b.Write("1", "hello")
	<-inside
	if b.Acknowledged("1") {
		t.Error("acknowledged before it was durable")
	}
	close(goOn)
	until(t, "the acknowledgement", func() bool { return b.Acknowledged("1") })
}

func redelivered(t *testing.T, b *bench) {
	tries := newEvents[string]()
	b.receive = func(ctx context.Context, batch []channel.Message) error {
		tries.add(batch[0].ID)
		if len(tries.all()) == 1 {
			return errFull
		}
		return b.take(ctx, batch)
	}
	b.serve()
	b.Write("1", "hello")
	until(t, "the message", func() bool { return len(b.texts()) > 0 })
	until(t, "the acknowledgement", func() bool { return b.Acknowledged("1") })
	if ids := tries.all(); len(ids) != 2 || ids[0] != ids[1] {
		t.Errorf("it came as %q", ids)
	}
}

func stopDuringReceive(t *testing.T, b *bench) {
	inside := make(chan struct{})
	b.receive = func(ctx context.Context, _ []channel.Message) error {
		close(inside)
		<-ctx.Done()
		return ctx.Err()
	}
	stop := b.serve()
	b.Write("1", "hello")
	<-inside
	stop()
	if b.Acknowledged("1") {
		t.Error("acknowledged though it was not taken")
	}
}

func caughtUp(t *testing.T, b *bench) {
	stop := b.serve()
	b.Write("1", "first")
	until(t, "the first message", func() bool { return len(b.texts()) > 0 })
	stop()
	b.Write("2", "second")
	b.Write("3", "third")
	b.serve()
	until(t, "what was written meanwhile", func() bool { return slices.Contains(b.texts(), "third") })
	b.Write("4", "fourth")
	until(t, "the latest message", func() bool { return slices.Contains(b.texts(), "fourth") })
	// The newest that was taken before may come again: the daemon knows it.
	got := slices.Compact(b.texts())
	if !slices.Equal(got, []string{"first", "second", "third", "fourth"}) {
		t.Errorf("messages %q", got)
	}
}

func parts(t *testing.T, b *bench) {
	b.serve()
	want := numbered(5)
	for _, text := range want {
		if receipt := b.send(text, text); receipt.MessageID == "" {
			t.Errorf("receipt %+v", receipt)
		}
	}
	if got := b.Shown(); !slices.Equal(got, want) {
		t.Errorf("shown %q", got)
	}
}

func sentAgain(t *testing.T, b *bench) {
	b.serve()
	first := b.send("part-1", "hello")
	other := b.send("part-2", "hello")
	again := b.send("part-1", "hello")
	if got := b.Shown(); !slices.Equal(got, []string{"hello", "hello"}) {
		t.Errorf("shown %q", got)
	}
	if first.MessageID != again.MessageID || first.MessageID == other.MessageID {
		t.Errorf("receipts %+v, %+v, %+v", first, other, again)
	}
}

func sideBySide(t *testing.T, b *bench) {
	b.serve()
	want := numbered(20)
	var all sync.WaitGroup
	for _, text := range want {
		all.Go(func() { _, _ = b.Adapter.Send(context.Background(), b.outgoing(text, text)) })
	}
	all.Wait()
	got := b.Shown()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("shown %q", got)
	}
}

func sendGivenUp(t *testing.T, b *bench) {
	b.serve()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := b.Adapter.Send(ctx, b.outgoing("part-1", "hello")); err == nil || errors.Is(err, channel.ErrRefused) {
		t.Errorf("Send with a context that has ended: %v; that is no refusal", err)
	}
	if got := b.Shown(); len(got) != 0 {
		t.Errorf("shown %q", got)
	}
}

func size(t *testing.T, b *bench) {
	const least = 256 // bytes; anything smaller makes no sense of a reply
	if n := b.Adapter.MaxText(); n < least {
		t.Errorf("a part has %d bytes", n)
	}
}
