package reconcile

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"scv/daemon/channel"
)

// An adapter carries files for others if it does, and only then; a fetch is bounded by its attempt as a send is.
func TestFilesAreCarried(t *testing.T) {
	in(t, func(t *testing.T) {
		w := begin(t, &world{plays: map[string][]play{
			id:       {{carries: true, lives: time.Minute}, {carries: true, sends: time.Hour}},
			"test:b": {{}}, "test:c": {{carries: true, in: "send"}},
		}})
		w.set(anAccount("a"), anAccount("b"), anAccount("c"))
		synctest.Wait()
		if plain, there := w.loop.Adapter("test:b"); !there || isCarrier(plain) {
			t.Error("one that carries nothing says that it does")
		}
		a, _ := w.loop.Adapter(id)
		first := a.(channel.Carrier)
		var text strings.Builder
		if err := first.Fetch(t.Context(), channel.File{Ref: "key"}, &text, 7); err != nil || text.String() != "key of 7" || first.MaxUpload(channel.Image) != 5 {
			t.Errorf("%q, %v", text.String(), err)
		}
		time.Sleep(2 * time.Minute)
		if err := first.Fetch(t.Context(), channel.File{}, &text, 7); !errors.Is(err, errNotRunning) {
			t.Errorf("the old one fetches beside the new: %v", err)
		}
		a, _ = w.loop.Adapter(id)
		fetched := make(chan error, 1)
		go func() {
			fetched <- a.(channel.Carrier).Fetch(context.WithoutCancel(t.Context()), channel.File{}, &text, 7)
		}()
		synctest.Wait()
		c, _ := w.loop.Adapter("test:c")
		if err := c.(channel.Carrier).Fetch(t.Context(), channel.File{Ref: "s3cret"}, &text, 7); !errors.Is(err, errPanic) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("a panic is %v", err)
		}
		w.set()
		synctest.Wait()
		if len(fetched) != 1 || !errors.Is(<-fetched, context.Canceled) {
			t.Error("the account is gone and its fetch goes on")
		}
	})
}

func isCarrier(a channel.Adapter) bool {
	_, is := a.(channel.Carrier)
	return is
}
