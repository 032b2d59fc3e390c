package channeltest

import (
	"context"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

// lostConnections has an adapter lose its connection again and again. It comes back, by itself or when it is served
// again, and in the end as many descriptors and goroutines are there as in the beginning.
func lostConnections(t *testing.T, b *bench) {
	if b.Cut == nil {
		return // there is nothing to lose
	}
	defer b.serveAgain()()
	var files, goroutines int
	for i := range 1000 {
		b.comesBack(func() { until(t, "a connection to cut", b.Cut) })
		_, _ = b.hand(b.outgoing("part", "hello")) // which may be cut off, too
		if i == 20 {
			files, goroutines = descriptors(t), runtime.NumGoroutine()
		}
	}
	until(t, "as many descriptors and goroutines as before", func() bool {
		return descriptors(t) <= files+2 && runtime.NumGoroutine() <= goroutines+4
	})
	b.Write("last", "is anybody there?")
	until(t, "the message", func() bool { return slices.Contains(b.texts(), "is anybody there?") })
}

// serveAgain serves over and over, as the daemon does. An attempt that ends by itself counts as a contact that failed.
func (b *bench) serveAgain() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var served sync.WaitGroup
	served.Go(func() {
		for ctx.Err() == nil {
			if err := b.Adapter.Serve(ctx); err != nil {
				b.contacts.add(err)
			}
		}
	})
	until(b.t, "a contact", func() bool { return slices.Contains(b.contacts.all(), nil) })
	return func() {
		cancel()
		served.Wait()
	}
}

// comesBack breaks something and waits until the adapter has noticed, and has contact anew.
func (b *bench) comesBack(brk func()) {
	b.t.Helper()
	b.contacts.clear()
	brk()
	noticed := func(err error) bool { return err != nil }
	for end := time.Now().Add(limit); ; time.Sleep(100 * time.Microsecond) {
		all := b.contacts.all()
		if i := slices.IndexFunc(all, noticed); i >= 0 && slices.Contains(all[i:], nil) {
			return
		}
		if time.Now().After(end) {
			b.t.Fatalf("waited %v in vain for another connection: %v", limit, all)
		}
	}
}

// descriptors is how many are open in this process.
func descriptors(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(open)
}
