package outbox

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"scv/daemon/channel"
	"scv/store"
)

var errDown = errors.New("the platform is down")

func down(context.Context, channel.Outgoing) (channel.Receipt, error) {
	return channel.Receipt{}, errDown
}

func TestFirstInFirstOut(t *testing.T) {
	inBubble(t, func(w *world) {
		w.platforms[a].become(down)
		w.queue(a, text("1", "one"), text("2", "two"))
		w.queue(a, text("3", "three"))
		w.platforms[a].become(accept)
		time.Sleep(time.Second)
		synctest.Wait()
		w.expect("handed over", w.platforms[a].texts(), "one", "one", "two", "three")
		w.expect("delivered", w.delivered(), a+" 1-0", a+" 2-0", a+" 3-0")
		waiting, held := w.left(a)
		w.expect("left", append(waiting, held...))
	})
}

// One account whose platform hangs holds nothing of the others.
func TestAccountsAreIndependent(t *testing.T) {
	inBubble(t, func(w *world) {
		w.platforms[a].become(hang)
		w.queue(a, text("1", "one"))
		w.queue(b, text("2", "two"))
		w.expect("delivered", w.delivered(), b+" 2-0")
		w.platforms[a].become(accept)
		time.Sleep(sendTimeout + firstDelay) // a send that hangs is given up
		synctest.Wait()
		w.expect("delivered", w.delivered(), b+" 2-0", a+" 1-0")
	})
}

func TestBackOff(t *testing.T) {
	inBubble(t, func(w *world) {
		p := w.platforms[a]
		p.become(down)
		w.queue(a, text("1", "one"))
		for _, wait := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
			before := len(p.ids())
			time.Sleep(wait*time.Second - time.Millisecond)
			synctest.Wait()
			if n := len(p.ids()); n != before {
				t.Fatalf("%d tries within %v s", n-before, int(wait))
			}
			time.Sleep(time.Millisecond)
			synctest.Wait()
			if n := len(p.ids()); n != before+1 {
				t.Fatalf("%d tries after %v s", n-before, int(wait))
			}
		}
		for _, id := range p.ids() {
			if id != "1-0" {
				t.Fatalf("tried as %q", id)
			}
		}
		p.become(accept)
		time.Sleep(maxDelay)
		synctest.Wait()
		p.become(down)
		w.queue(a, text("2", "two")) // a success takes the delay back to its start
		before := len(p.ids())
		time.Sleep(firstDelay)
		synctest.Wait()
		if n := len(p.ids()); n != before+1 {
			t.Errorf("%d tries a second after the first failure", n-before)
		}
	})
}

// A crash between two parts: the next start goes on with the part that was under way, under its old name.
func TestPartsOverARestart(t *testing.T) {
	inBubble(t, func(w *world) {
		p := w.platforms[a]
		p.max = 4
		p.become(func(ctx context.Context, out channel.Outgoing) (channel.Receipt, error) {
			if out.ClientID == "1-1" {
				return hang(ctx, out)
			}
			return accept(ctx, out)
		})
		w.queue(a, text("1", "aaaabbbbcc"))
		p.become(accept) // for what is begun from here on
		w.run()
		synctest.Wait()
		w.expect("handed over", p.texts(), "aaaa", "bbbb", "bbbb", "cc")
		w.expect("as", p.ids(), "1-0", "1-1", "1-1", "1-2")
		for i, out := range p.handed() {
			if out.First != (i == 0) || out.Last != (i == 3) {
				t.Errorf("%q: first is %v, last is %v", out.Text, out.First, out.Last)
			}
		}
		w.expect("delivered", w.delivered(), a+" 1-0", a+" 1-1", a+" 1-2")
	})
}

// The platform took it, and then the store did not: nobody is told, and it is sent again under its name.
func TestAcceptedAndNotRecorded(t *testing.T) {
	inBubble(t, func(w *world) {
		p := w.platforms[a]
		p.become(func(ctx context.Context, out channel.Outgoing) (channel.Receipt, error) {
			must(t, w.store.Close())
			return accept(ctx, out)
		})
		w.queue(a, text("1", "one"))
		w.expect("delivered", w.delivered())
		p.become(accept)
		w.run()
		synctest.Wait()
		w.expect("as", p.ids(), "1-0", "1-0")
		w.expect("delivered", w.delivered(), a+" 1-0")
	})
}

// The store runs a function again when a neighbour in its transaction fails: no part may be skipped.
func TestRecordedTwice(t *testing.T) {
	inBubble(t, func(w *world) {
		p, release, free := w.platforms[a], make(chan struct{}), make(chan struct{})
		p.max = 4
		p.become(func(ctx context.Context, out channel.Outgoing) (channel.Receipt, error) {
			if out.ClientID == "1-0" {
				busy := make(chan struct{})
				go func() {
					defer close(free)
					must(t, w.store.Deliver(context.Background(), func(*store.Delivery) error { close(busy); <-release; return nil }))
				}()
				<-busy
			}
			return accept(ctx, out)
		})
		w.queue(a, text("1", "aaaabbbbcc"))
		spoiled := make(chan error, 1)
		go func() {
			spoiled <- w.store.Deliver(context.Background(), func(tx *store.Delivery) error {
				if err := tx.MarkSeen(a, "m"); err != nil {
					return err
				}
				return errDown
			})
		}()
		synctest.Wait()
		close(release)
		<-free
		if err := <-spoiled; !errors.Is(err, errDown) {
			t.Fatal(err)
		}
		synctest.Wait()
		w.expect("handed over", p.texts(), "aaaa", "bbbb", "cc")
	})
}

func TestAdapterPanics(t *testing.T) {
	inBubble(t, func(w *world) {
		w.platforms[a].become(func(context.Context, channel.Outgoing) (channel.Receipt, error) { panic("secret") })
		w.queue(a, text("1", "one"))
		w.queue(b, text("2", "two"))
		w.platforms[a].become(accept)
		time.Sleep(firstDelay)
		synctest.Wait()
		w.expect("delivered", w.delivered(), b+" 2-0", a+" 1-0")
		_, err := send(t.Context(), &platform{answer: func(context.Context, channel.Outgoing) (channel.Receipt, error) { panic("secret") }}, channel.Outgoing{})
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("a panic reads %v", err)
		}
	})
}

// An account that does not run keeps its queue, and is served soon after it runs.
func TestAdapterComesLater(t *testing.T) {
	inBubble(t, func(w *world) {
		w.setGone(a, true)
		w.queue(a, text("1", "one"))
		time.Sleep(time.Hour)
		synctest.Wait()
		w.expect("delivered", w.delivered())
		w.setGone(a, false)
		time.Sleep(lookAgain)
		synctest.Wait()
		w.expect("delivered", w.delivered(), a+" 1-0")
	})
}

// An account is logged out while a message of it is on its way.
func TestAccountForgottenMeanwhile(t *testing.T) {
	for name, answer := range map[string]func(context.Context, channel.Outgoing) (channel.Receipt, error){"accepted": accept, "refused": refuse} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				p := w.platforms[a]
				p.max = 4
				p.become(func(ctx context.Context, out channel.Outgoing) (channel.Receipt, error) {
					must(t, w.store.Deliver(ctx, func(tx *store.Delivery) error {
						_, err := tx.ForgetAccount(a, 100)
						return err
					}))
					return answer(ctx, out)
				})
				w.queue(a, text("1", "aaaabbbb"))
				time.Sleep(time.Hour)
				synctest.Wait()
				waiting, held := w.left(a)
				w.expect("left", append(waiting, held...))
				w.expect("as", p.ids(), "1-0")
			})
		})
	}
}
