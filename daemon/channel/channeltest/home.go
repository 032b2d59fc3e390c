package channeltest

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"scv/daemon/channel"
)

// Home stands for the daemon in an adapter's own tests: it keeps what one account gives it, runs its attempts
// one after the other, and remembers how the contacts went.
type Home struct {
	t    *testing.T
	over chan struct{}      // closed when the attempt has ended
	end  context.CancelFunc // of the attempt

	mu       sync.Mutex
	full     bool
	batches  [][]channel.Message
	cursor   string
	contacts []string
	before   int // successes when the attempt began
	err      error
	log      strings.Builder
}

// NewHome makes one in which nothing was taken yet.
func NewHome(t *testing.T) *Home { return &Home{t: t} }

// Host is what an adapter gets of it.
func (h *Home) Host() channel.Host {
	return channel.Host{ReceiveTo: h.take, Cursor: func() (string, error) { return h.Cursor(), nil }, Contact: h.contact}
}

func (h *Home) take(_ context.Context, batch []channel.Message, cursor string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.full {
		return errFull
	}
	h.batches, h.cursor = append(h.batches, batch), cursor
	return nil
}

func (h *Home) contact(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	said := ""
	if err != nil {
		said = err.Error()
	}
	h.contacts = append(h.contacts, said)
}

// Log is for the adapter; Logged gives what it said.
func (h *Home) Log() *slog.Logger { return slog.New(slog.NewTextHandler(h, nil)) }

// Write keeps a line of the log.
func (h *Home) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.Write(b)
}

// Logged is all that the adapter has logged.
func (h *Home) Logged() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.String()
}

// Fill says whether the disk is full, so that nothing can be kept.
func (h *Home) Fill(full bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.full = full
}

// Cursor is how far the account was taken; SetCursor moves it, as an earlier life has left it.
func (h *Home) Cursor() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cursor
}

// SetCursor comes before the attempt that is to read it.
func (h *Home) SetCursor(cursor string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cursor = cursor
}

// Begin runs an attempt, which the end of the test ends too.
func (h *Home) Begin(serve func(context.Context) error) {
	ctx, end := context.WithCancel(h.t.Context())
	over := make(chan struct{})
	h.mu.Lock()
	h.over, h.end, h.before = over, end, successes(h.contacts)
	h.mu.Unlock()
	go func() {
		defer close(over)
		err := serve(ctx)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.err = err
	}()
	h.t.Cleanup(func() { end(); <-over })
}

// Connected waits for the contact of the present attempt.
func (h *Home) Connected() {
	h.t.Helper()
	h.Until("a contact", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return successes(h.contacts) > h.before
	})
}

func successes(contacts []string) (n int) {
	for _, c := range contacts {
		if c == "" {
			n++
		}
	}
	return n
}

// Ended waits until the attempt has ended by itself, and says how.
func (h *Home) Ended() error {
	h.t.Helper()
	select {
	case <-h.over:
	case <-time.After(limit):
		h.t.Fatalf("the attempt does not end; contacts %q", h.Heard())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// Stop ends the attempt, which is no failure of it.
func (h *Home) Stop() {
	h.t.Helper()
	h.end()
	if err := h.Ended(); err != nil {
		h.t.Errorf("the attempt ends with %v", err)
	}
}

// Heard is how the contacts went: what was wrong, or "" for a success.
func (h *Home) Heard() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.contacts)
}

// Hears waits for a contact that failed so.
func (h *Home) Hears(what string) {
	h.t.Helper()
	h.Until(what, func() bool {
		return slices.ContainsFunc(h.Heard(), func(c string) bool { return strings.Contains(c, what) })
	})
}

// Commits is how often something was kept.
func (h *Home) Commits() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.batches)
}

// Taken are the messages in the order they came, each once as the daemon would have it.
func (h *Home) Taken() (all []channel.Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	known := map[string]bool{}
	for _, m := range slices.Concat(h.batches...) {
		if !known[m.ID] {
			known[m.ID] = true
			all = append(all, m)
		}
	}
	return all
}

// Texts are those of Taken.
func (h *Home) Texts() (texts []string) {
	for _, m := range h.Taken() {
		texts = append(texts, m.Text)
	}
	return texts
}

// Await waits for n messages.
func (h *Home) Await(n int) []channel.Message {
	h.t.Helper()
	h.Until("messages", func() bool { return len(h.Taken()) >= n })
	return h.Taken()
}

// Until waits for a condition.
func (h *Home) Until(what string, ok func() bool) {
	h.t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			h.t.Fatalf("waited %v in vain: %s; contacts %q; log:\n%s", limit, what, h.Heard(), h.Logged())
		}
	}
}
