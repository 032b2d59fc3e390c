package loopback

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestWorld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w World
		ready, ended := false, make(chan error, 1)
		go func() { ended <- w.Await(t.Context(), func() bool { return ready }) }()
		synctest.Wait()
		w.Changed() // not what is waited for
		synctest.Wait()
		select {
		case err := <-ended:
			t.Fatalf("it waits no longer: %v", err)
		default:
		}
		ready = true
		w.Skew(time.Hour) // a change as well
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if got := time.Until(w.Now()); got != time.Hour {
			t.Errorf("its clock is %v ahead", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := w.Await(ctx, func() bool { return false }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waited in vain: %v", err)
		}
		w.Complain("%d words", 7)
		got := w.Complaints()
		if got[0] = "another"; !slices.Equal(w.Complaints(), []string{"7 words"}) {
			t.Errorf("it complains of %q", w.Complaints())
		}
	})
}
