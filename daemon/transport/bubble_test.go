package transport_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"scv/daemon/transport"
	"scv/wire"
	"scv/wire/bus"
)

// TestVirtualTime keeps a client alive for half an hour of false time, twice: a second bubble fails
// where nats.go shares a timer with the first.
func TestVirtualTime(t *testing.T) {
	for range 2 {
		begin := time.Now()
		synctest.Test(t, func(t *testing.T) {
			h := open(t, transport.Options{}, control(func(ctx context.Context, r bus.Request) ([]byte, error) {
				time.Sleep(2 * time.Second)
				return status(ctx, r)
			}))
			c := client(t, as{h.Server, outsider})
			events, err := c.WatchConfirm(t.Context(), "0123456789ab")
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			for time.Since(start) < 30*time.Minute {
				time.Sleep(3 * time.Second)
				if _, err := c.Control(t.Context(), wire.ConfirmStatusCommand{ID: "0123456789ab"}); err != nil {
					t.Fatal(err)
				}
			}
			publish(t, h, wire.EventConfirm+"0123456789ab", wire.ConfirmInfo{State: wire.Expired})
			if info := receive(t, events); info.State != wire.Expired {
				t.Errorf("got %+v", info)
			}
		})
		t.Logf("half an hour took %v", time.Since(begin))
	}
}

// TestASlowHandlerIsEnded shows the bounds of a request in false time.
func TestASlowHandlerIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, transport.Options{}, control(func(ctx context.Context, _ bus.Request) ([]byte, error) {
			<-ctx.Done()
			return nil, wire.Refuse(wire.Unavailable, "took too long")
		}))
		start := time.Now()
		_, err := client(t, as{h.Server, outsider}).Control(t.Context(), wire.StatusCommand{})
		if err == nil || err.Error() != "took too long" || time.Since(start) != 30*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}
