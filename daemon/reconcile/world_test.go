package reconcile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"scv/daemon/channel"
	"scv/internal/clock"
	"scv/wire"
)

// play is one attempt of a scripted adapter, as data.
type play struct {
	makeErr  error         // Make fails
	in       string        // where it panics: make, serve, send, type; or "exit" ends its goroutine
	contacts []contact     // in order
	lives    time.Duration // 0: until it is asked to stop
	ends     error         // with what, after lives
	lingers  time.Duration // how long it goes on after it was asked to stop
	sends    time.Duration // how long a send or a fetch takes that ctx does not end
	types    bool          // it can show that somebody is writing
	carries  bool          // it is a Carrier
}

type contact struct {
	after time.Duration
	err   error
}

// world is what the loop reads and makes, and it watches that no account has two instances.
type world struct {
	t       *testing.T
	loop    *Loop
	mu      sync.Mutex
	desired []Desired
	unread  error
	plays   map[string][]play // by id: attempts in order, the last for ever
	made    map[string]int
	makes   map[string][]time.Time
	live    map[string]int
	hosts   map[string]channel.Host // of the latest attempt
	got     []string                // messages received
	changes int
	log     journal
	gate    chan struct{} // the next read waits for it
	end     func() error  // ends the loop and says how Run ended; may be called twice
}

// journal is a log that can be read while it is written.
type journal struct {
	mu   sync.Mutex
	text strings.Builder
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// begin runs a loop until the test ends; the bubble's end proves that nothing is left.
func begin(t *testing.T, w *world) *world {
	t.Helper()
	w.t = t
	w.made, w.live = map[string]int{}, map[string]int{}
	w.makes, w.hosts = map[string][]time.Time{}, map[string]channel.Host{}
	w.loop = New(Options{
		Desired: w.read, Make: w.make, Receive: w.receive, Changed: w.changed,
		Clock: clock.NewVirtual(), Log: slog.New(slog.NewTextHandler(&w.log, nil)),
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.loop.Run(ctx) }()
	w.end = sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() {
		_ = w.end()
		time.Sleep(time.Hour) // false time: whatever lingers has ended by then
		synctest.Wait()
		for id, n := range w.live {
			if n != 0 {
				t.Errorf("%s still runs", id)
			}
		}
	})
	synctest.Wait()
	return w
}

func (w *world) read() ([]Desired, error) {
	w.mu.Lock()
	ds, err, gate := slices.Clone(w.desired), w.unread, w.gate
	w.gate = nil
	w.mu.Unlock()
	if gate != nil {
		<-gate
	}
	return ds, err
}

// holdNextRead keeps the next pass between reading and applying until the release.
func (w *world) holdNextRead() (release func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	gate := make(chan struct{})
	w.gate = gate
	return func() { close(gate) }
}

func (w *world) changed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changes++
}

func (w *world) receive(_ context.Context, id string, batch []channel.Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range batch {
		w.got = append(w.got, id+" "+m.ID)
	}
	return nil
}

// set makes the given accounts the desired ones and waits until that is so.
func (w *world) set(ds ...Desired) {
	w.t.Helper()
	w.put(ds...)
	if err := w.loop.Sync(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) put(ds ...Desired) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.desired = slices.Clone(ds)
}

func (w *world) make(d Desired, host channel.Host) (channel.Adapter, error) {
	id := d.Account.ID()
	w.mu.Lock()
	plays := w.plays[id]
	p := play{}
	if len(plays) > 0 {
		p = plays[min(w.made[id], len(plays)-1)]
	}
	w.made[id]++
	w.makes[id] = append(w.makes[id], time.Now())
	w.hosts[id] = host
	w.mu.Unlock()
	if p.in == "make" {
		panic("s3cret")
	}
	if p.makeErr != nil {
		return nil, p.makeErr
	}
	adapter := &scripted{w, id, p, host}
	switch {
	case p.types:
		return typing{adapter}, nil
	case p.carries:
		return &carrying{adapter}, nil
	}
	return adapter, nil
}

// typing is an adapter whose platform shows that somebody is writing.
type typing struct{ *scripted }

func (typing) TakesProgress() bool { return false }

func (y typing) Typing(ctx context.Context, _, _ string) {
	if y.play.in == "type" {
		panic("s3cret")
	}
	y.w.enter(y.id+" type", 1)
	defer y.w.enter(y.id+" type", -1)
	<-ctx.Done()
	time.Sleep(y.play.lingers)
}

// carrying is a scripted adapter that carries files.
type carrying struct{ *scripted }

func (c *carrying) Fetch(ctx context.Context, file channel.File, w io.Writer, limit int64) error {
	if _, err := c.Send(ctx, channel.Outgoing{Text: file.Ref}); err != nil {
		return err
	}
	_, err := fmt.Fprint(w, file.Ref, " of ", limit)
	return err
}

func (c *carrying) MaxUpload(kind channel.FileKind) int64 { return int64(len(kind)) }

type scripted struct {
	w    *world
	id   string
	play play
	host channel.Host
}

func (s *scripted) MaxText() int { return 1000 }

func (s *scripted) Serve(ctx context.Context) error {
	s.w.enter(s.id, 1)
	defer s.w.enter(s.id, -1)
	var end <-chan time.Time
	if s.play.lives > 0 {
		t := time.NewTimer(s.play.lives)
		defer t.Stop()
		end = t.C
	}
	for _, c := range s.play.contacts {
		if !clock.Pause(ctx, c.after) {
			break
		}
		s.host.Contact(c.err)
	}
	select {
	case <-ctx.Done():
		time.Sleep(s.play.lingers)
		return nil
	case <-end:
	}
	switch s.play.in {
	case "serve":
		panic(fmt.Errorf("s3cret"))
	case "exit":
		runtime.Goexit()
	}
	return s.play.ends
}

func (s *scripted) Send(ctx context.Context, out channel.Outgoing) (channel.Receipt, error) {
	if s.play.in == "send" {
		var none []int
		return channel.Receipt{}, errors.New(fmt.Sprint(none[len(out.Text)]))
	}
	s.w.enter(s.id+" send", 1)
	defer s.w.enter(s.id+" send", -1)
	if s.play.sends > 0 && !clock.Pause(ctx, s.play.sends) {
		return channel.Receipt{}, ctx.Err()
	}
	return channel.Receipt{MessageID: out.ClientID}, nil
}

// enter counts what is alive; two of one account is the breach that must never be.
func (w *world) enter(id string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.live[id] += n
	if w.live[id] > 1 {
		w.t.Errorf("two instances of %s at once", id)
	}
}

// count says how often an account was made and how many live, once nothing is on its way.
func (w *world) count(id string) (made, live int) {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.made[id], w.live[id]
}

func (w *world) host(id string) channel.Host {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hosts[id]
}

// health is the health of one account; false when it is not shown.
func (w *world) health(id string) (wire.ComponentHealth, bool) {
	for _, h := range w.loop.Health() {
		if h.ID == id {
			return h, true
		}
	}
	return wire.ComponentHealth{}, false
}

// must checks the state and the error an account shows.
func (w *world) must(id string, state wire.ComponentState, problem string) {
	w.t.Helper()
	synctest.Wait()
	h, ok := w.health(id)
	got := ""
	if h.Error != nil {
		got = *h.Error
	}
	if !ok || h.State != state || got != problem {
		w.t.Errorf("%s is %q with the error %q, want %q with %q", id, h.State, got, state, problem)
	}
}

// anAccount is one that answers its owner.
func anAccount(name string) Desired {
	return Desired{
		Account: channel.Account{Channel: "test", Name: name, OwnerID: "me"}, Enabled: true,
		RemoteTools: wire.ToolsOwner, Senders: wire.SendersOwner, Workspace: "/w",
	}
}

var errLost = errors.New("sign in again")
