package reconcile

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"scv/daemon/channel"
	"scv/wire"
)

func TestAdapterIsThereWhileItCanSend(t *testing.T) {
	in(t, func(t *testing.T) {
		w := begin(t, &world{plays: map[string][]play{id: {{contacts: []contact{{0, nil}, {time.Second, errLost}}, lives: time.Minute}, {}}}})
		if _, ok := w.loop.Adapter(id); ok {
			t.Error("an adapter of an unknown account")
		}
		w.set(anAccount("a"))
		synctest.Wait()
		a, ok := w.loop.Adapter(id)
		if !ok {
			t.Fatal("none while connected")
		}
		r, err := a.Send(t.Context(), channel.Outgoing{ClientID: "1"})
		if err != nil || r.MessageID != "1" || a.MaxText() != 1000 {
			t.Errorf("%+v %v %d", r, err, a.MaxText())
		}
		if a.Serve(t.Context()) == nil {
			t.Error("anyone may serve")
		}
		time.Sleep(2 * time.Second)
		w.must(id, wire.Disconnected, "sign in again")
		if _, ok := w.loop.Adapter(id); !ok {
			t.Error("none while disconnected")
		}
		time.Sleep(58 * time.Second)
		w.must(id, wire.Backoff, "sign in again")
		if _, ok := w.loop.Adapter(id); ok {
			t.Error("one in back-off")
		}
		time.Sleep(2 * time.Second)
		if _, err := a.Send(t.Context(), channel.Outgoing{}); !errors.Is(err, errNotRunning) {
			t.Errorf("the old one sends beside the new: %v", err)
		}
		off := anAccount("a")
		off.Enabled = false
		w.set(off)
		if _, ok := w.loop.Adapter(id); ok {
			t.Error("one while disabled")
		}
	})
}

// A send is part of the instance: it is cancelled and joined before anything takes its place.
func TestSendsAreJoined(t *testing.T) {
	in(t, func(t *testing.T) {
		w := begin(t, &world{plays: map[string][]play{id: {{sends: time.Hour}, {}}}})
		w.set(anAccount("a"))
		synctest.Wait()
		a, _ := w.loop.Adapter(id)
		sent := make(chan error, 1)
		go func() {
			_, err := a.Send(context.WithoutCancel(t.Context()), channel.Outgoing{})
			sent <- err
		}()
		synctest.Wait()
		w.set()
		synctest.Wait()
		select {
		case err := <-sent:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("the send ended with %v", err)
			}
		default:
			t.Error("the account is gone and its send goes on")
		}
	})
}

// An attempt that ends by itself takes its sends with it, too.
func TestSendsEndWithTheirAttempt(t *testing.T) {
	in(t, func(t *testing.T) {
		w := begin(t, &world{plays: map[string][]play{id: {{sends: time.Hour, lives: time.Minute}, {}}}})
		w.set(anAccount("a"))
		synctest.Wait()
		a, _ := w.loop.Adapter(id)
		sent := make(chan error, 1)
		go func() {
			_, err := a.Send(context.WithoutCancel(t.Context()), channel.Outgoing{})
			sent <- err
		}()
		time.Sleep(2 * time.Minute)
		if made, live := w.count(id); made != 2 || live != 1 || len(sent) != 1 {
			t.Errorf("made %d times, %d live, %d sends ended", made, live, len(sent))
		}
	})
}

func TestASendThatPanicsHurtsNobody(t *testing.T) {
	in(t, func(t *testing.T) {
		w := begin(t, &world{plays: map[string][]play{id: {{in: "send"}}}})
		w.set(anAccount("a"))
		synctest.Wait()
		a, _ := w.loop.Adapter(id)
		_, err := a.Send(t.Context(), channel.Outgoing{Text: "s3cret"})
		if !errors.Is(err, errPanic) || errors.Is(err, channel.ErrRefused) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%v", err)
		}
		w.must(id, wire.Starting, "")
	})
}

// What an adapter left behind after its attempt must not speak for the next one.
func TestALateHostIsIgnored(t *testing.T) {
	in(t, func(t *testing.T) {
		w := begin(t, &world{plays: map[string][]play{id: {{lives: time.Second}, {}}}})
		w.set(anAccount("a"))
		synctest.Wait()
		old := w.host(id)
		batch := []channel.Message{{ID: "m1"}}
		if err := old.Receive(t.Context(), batch); err != nil || len(w.got) != 1 || w.got[0] != "test:a m1" {
			t.Errorf("while it runs: %v %v", err, w.got)
		}
		time.Sleep(3 * time.Second)
		old.Contact(nil)
		w.must(id, wire.Starting, "")
		if err := old.Receive(t.Context(), batch); !errors.Is(err, errNotRunning) || len(w.got) != 1 {
			t.Errorf("after it ended: %v %v", err, w.got)
		}
	})
}

func TestEffectiveGrantsAndNotes(t *testing.T) {
	in(t, func(t *testing.T) {
		w := begin(t, &world{})
		stranger := anAccount("a")
		stranger.Account.OwnerID, stranger.BotID = "", "bot"
		w.set(stranger)
		w.must(id, wire.Starting, saysNobody)
		h, _ := w.health(id)
		if h.RemoteTools != wire.ToolsNone || h.UserID != nil || *h.BotID != "bot" || *h.Senders != wire.SendersOwner {
			t.Errorf("%+v", h)
		}
		stranger.Senders = wire.SendersAnyone
		w.set(stranger)
		w.must(id, wire.Starting, "")
		w.set(anAccount("a"))
		w.must(id, wire.Starting, "")
		if h, _ := w.health(id); h.RemoteTools != wire.ToolsOwner || *h.UserID != "me" || h.Channel != "test" || h.Account != "a" {
			t.Errorf("%+v", h)
		}
	})
}

// What is shown as typing ends with its attempt, is joined, and hurts nobody.
func TestTypingIsJoined(t *testing.T) {
	in(t, func(t *testing.T) {
		w := begin(t, &world{plays: map[string][]play{id: {
			{types: true, lives: time.Minute, lingers: 3 * time.Second}, {types: true, in: "type"}, {},
		}}})
		w.set(anAccount("a"))
		synctest.Wait()
		y, types := w.loop.Typist(id)
		if !types {
			t.Fatal("it does not type")
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			y.Typing(context.WithoutCancel(t.Context()), "chat", "handle")
		}()
		time.Sleep(time.Minute + 2*time.Second)
		if made, _ := w.count(id); made != 1 {
			t.Error("another attempt began while the one before still typed")
		}
		time.Sleep(time.Minute)
		<-ended
		if made, live := w.count(id); made != 2 || live != 1 {
			t.Errorf("made %d times, %d live", made, live)
		}
		y.Typing(t.Context(), "chat", "handle") // of an attempt that is over
		y, _ = w.loop.Typist(id)
		y.Typing(t.Context(), "chat", "handle")
		w.must(id, wire.Starting, "")
	})
}

func TestNotEveryAdapterTypes(t *testing.T) {
	in(t, func(t *testing.T) {
		w := begin(t, &world{plays: map[string][]play{id: {{}}}})
		if _, types := w.loop.Typist(id); types {
			t.Error("an unknown account does")
		}
		w.set(anAccount("a"))
		synctest.Wait()
		if _, types := w.loop.Typist(id); types {
			t.Error("an adapter that cannot does")
		}
	})
}
