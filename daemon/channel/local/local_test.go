package local

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"scv/daemon/channel"
	"scv/daemon/channel/channeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// screen is what the daemon keeps for terminals: the same client id twice is one line.
type screen struct {
	mu    sync.Mutex
	lines []channel.Outgoing
}

func (s *screen) show(ctx context.Context, out channel.Outgoing) (channel.Receipt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return channel.Receipt{}, err
	}
	i := slices.IndexFunc(s.lines, func(line channel.Outgoing) bool { return line.ClientID == out.ClientID })
	if i < 0 {
		i = len(s.lines)
		s.lines = append(s.lines, out)
	}
	return channel.Receipt{MessageID: strconv.Itoa(i + 1), At: time.Now()}, nil
}

func (s *screen) shown() (texts []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.lines {
		texts = append(texts, line.Text)
	}
	return texts
}

// terminal types one message after the other, each until it is taken or the test ends.
type terminal struct {
	adapter *Adapter
	queue   chan Said

	mu    sync.Mutex
	taken []string
}

func (k *terminal) typing(ctx context.Context) {
	for said := range k.queue {
		err := k.adapter.Say(ctx, said)
		for ; err != nil && ctx.Err() == nil; err = k.adapter.Say(ctx, said) {
			time.Sleep(time.Millisecond)
		}
		if err == nil {
			k.mu.Lock()
			k.taken = append(k.taken, said.ID)
			k.mu.Unlock()
		}
	}
}

func (k *terminal) acknowledged(id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Contains(k.taken, id)
}

var owner = channel.Account{Channel: "local", Name: "default", OwnerID: "uid:1000"}

func TestConformance(t *testing.T) {
	channeltest.Run(t, func(t *testing.T, host channel.Host) channeltest.Subject {
		s := &screen{}
		k := &terminal{adapter: New(owner, host, s.show), queue: make(chan Said, 100)}
		ctx, cancel := context.WithCancel(context.Background())
		var typing sync.WaitGroup
		typing.Go(func() { k.typing(ctx) })
		t.Cleanup(func() { cancel(); close(k.queue); typing.Wait() })
		return channeltest.Subject{
			Adapter: k.adapter, Chat: Chat, Shown: s.shown, Acknowledged: k.acknowledged,
			Write: func(id, text string) { k.queue <- Said{ID: id, Text: text} },
		}
	})
}

// What a terminal says reaches the daemon as the owner's word, with when it was said and by whom.
func TestSay(t *testing.T) {
	var got []channel.Message
	contact := make(chan error, 1)
	a := New(owner, channel.Host{
		Receive: func(_ context.Context, batch []channel.Message) error { got = append(got, batch...); return nil },
		Contact: func(err error) { contact <- err },
	}, (&screen{}).show)
	said := Said{ID: "m1", Text: "hello", At: time.Unix(1000, 0), Terminal: true}
	if err := a.Say(t.Context(), said); !errors.Is(err, ErrNotRunning) {
		t.Errorf("before it runs: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Serve(ctx) }()
	<-contact
	if err := a.Say(t.Context(), said); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if err := a.Say(t.Context(), said); !errors.Is(err, ErrNotRunning) {
		t.Errorf("after it ran: %v", err)
	}
	want := channel.Message{
		ID: "m1", Chat: Chat, Sender: "uid:1000", Direct: true, Text: "hello", SentAt: time.Unix(1000, 0), Terminal: true,
	}
	if len(got) != 1 || !reflect.DeepEqual(got[0], want) {
		t.Errorf("got %+v", got)
	}
}

// What was said before the stop is durable before Serve returns: nothing is said behind its back.
func TestStopWaitsForWhatIsSaid(t *testing.T) {
	inside, goOn, contact := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	a := New(owner, channel.Host{
		Receive: func(context.Context, []channel.Message) error { close(inside); <-goOn; return nil },
		Contact: func(err error) { contact <- err },
	}, (&screen{}).show)
	ctx, cancel := context.WithCancel(t.Context())
	ended, said := make(chan error, 1), make(chan error, 1)
	go func() { ended <- a.Serve(ctx) }()
	<-contact
	go func() { said <- a.Say(t.Context(), Said{ID: "m1", Text: "hello"}) }()
	<-inside
	cancel()
	for a.enter() != nil { // until the stop is under way
		a.saying.Done()
		time.Sleep(time.Millisecond)
	}
	select {
	case <-ended:
		t.Error("Serve returned during a Receive")
	default:
	}
	close(goOn)
	if err := errors.Join(<-said, <-ended); err != nil {
		t.Error(err)
	}
}
