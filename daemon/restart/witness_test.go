package restart_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"scv/wire"
	"scv/wire/bus"
)

// witness asks for the status all the time, and keeps the longest time without an answer.
type witness struct {
	stop    context.CancelFunc
	done    sync.WaitGroup
	longest atomic.Int64
	answers atomic.Int64
	failed  atomic.Int64
	why     atomic.Value // the last failure
}

// witnessPause leaves some of the machine to others.
const witnessPause = 10 * time.Millisecond

func (s *site) watch() *witness {
	ctx, cancel := context.WithCancel(context.Background())
	w := &witness{stop: cancel}
	w.done.Go(func() {
		last := time.Now()
		for ctx.Err() == nil {
			asking, cancel := context.WithTimeout(ctx, limit)
			err := bus.Do(asking, s.dialer(), func(ctx context.Context, c *bus.Client) error {
				for answered := false; ctx.Err() == nil; answered = true {
					_, err := c.Control(ctx, wire.StatusCommand{})
					if answered && errors.Is(err, bus.ErrLost) {
						return nil // by the next restart: a caller that is met by two has a try for each
					}
					if err != nil {
						return err
					}
					now := time.Now()
					w.longest.Store(max(w.longest.Load(), int64(now.Sub(last))))
					last = now
					w.answers.Add(1)
					select {
					case <-ctx.Done():
					case <-time.After(witnessPause):
					}
				}
				return nil
			})
			cancel()
			if err != nil && ctx.Err() == nil {
				w.why.Store(err.Error())
				w.failed.Add(1)
			}
		}
	})
	return w
}

// end gives the longest silence.
func (w *witness) end() time.Duration {
	w.stop()
	w.done.Wait()
	return time.Duration(w.longest.Load())
}

// writer changes settings all the time, and knows what was acknowledged.
type writer struct {
	stop  context.CancelFunc
	done  sync.WaitGroup
	acked []string
	some  atomic.Bool // one at least
}

func (s *site) write() *writer {
	ctx, cancel := context.WithCancel(context.Background())
	w := &writer{stop: cancel}
	w.done.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			name := fmt.Sprintf("w%d", n)
			asking, cancel := context.WithTimeout(ctx, limit)
			err := bus.Do(asking, s.dialer(), func(ctx context.Context, c *bus.Client) error {
				_, err := c.Control(ctx, wire.ChannelSetCommand{Channel: "local", Account: name})
				return err
			})
			cancel()
			if err == nil {
				w.acked = append(w.acked, "local:"+name)
				w.some.Store(true)
			}
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
	return w
}

// held holds what was acknowledged against what the daemon knows.
func (w *writer) held(s *site) {
	s.t.Helper()
	w.stop()
	w.done.Wait()
	status, err := s.status()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, id := range w.acked {
		if !slices.ContainsFunc(status.Components, func(c wire.ComponentHealth) bool { return c.ID == id }) {
			s.t.Errorf("%s was acknowledged and is lost, one of %d", id, len(w.acked))
			return
		}
	}
	if len(w.acked) == 0 {
		s.t.Error("no change was acknowledged")
	}
}
