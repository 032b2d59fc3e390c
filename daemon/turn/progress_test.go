package turn

import (
	"context"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"scv/internal/testexe"
	"scv/store"
	"scv/wire"
)

// What an agent does is told late, then more and more seldom, and only when it has changed.
func TestProgressIsToldNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var refuse atomic.Bool
		var now doing
		var told []time.Duration
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			tellNowAndThen(ctx, 15*time.Second, now.get, func(line string) bool {
				if line == "" || refuse.Load() {
					return false
				}
				told = append(told, time.Since(began).Round(time.Second))
				return true
			})
		}()
		at := func(d time.Duration) {
			time.Sleep(d - time.Since(began))
			synctest.Wait()
		}
		at(50 * time.Second) // nothing to tell
		now.set("a")
		at(61 * time.Second)
		refuse.Store(true) // something else waits in the chat
		at(74 * time.Second)
		now.set("b")
		at(100 * time.Second)
		refuse.Store(false)
		at(10 * time.Minute) // it still does the same
		if want := []time.Duration{60 * time.Second, 120 * time.Second}; !slices.Equal(told, want) {
			t.Fatalf("told at %v, not at %v", told, want)
		}
		told = nil
		for i := range 3 * 3600 {
			now.set(strconv.Itoa(i))
			at(10*time.Minute + time.Duration(i+1)*time.Second)
		}
		for i := range told[1:] {
			if pause := told[i+1] - told[i]; pause < time.Minute || pause > longestSilence {
				t.Errorf("line %d comes %v after the one before", i+1, pause)
			}
		}
		if n := len(told); n < 15 || n > 25 {
			t.Errorf("%d lines in three hours", n)
		}
		cancel()
		<-ended
	})
}

// progress are the lines of progress that wait for delivery.
func (w *world) progress() (lines []store.Outbound) {
	return slices.DeleteFunc(w.replies(), func(o store.Outbound) bool { return o.Kind != "progress" })
}

func TestProgressOfALiveAgent(t *testing.T) {
	w := newWorld(t)
	w.stays([]testexe.ACPStep{{Tool: "runs\n\x1b[31mmake\u0007 check"}, {Do: &testexe.Step{WaitFile: w.file("go")}}, {Say: "done"}})
	w.limits.Progress = 20 * time.Millisecond
	w.run()
	row := w.claim("c", "hello")
	until(t, "a line of progress", func() bool { return len(w.progress()) == 1 })
	got := w.progress()[0]
	want := store.Outbound{
		Kind: "progress", Chat: "chat c", ReplyHandle: "token", Text: "fake is at work: runs make check",
		ClientID: got.ClientID, Transient: true, Queued: got.Queued,
	}
	if !reflect.DeepEqual(got, want) || !strings.HasPrefix(got.ClientID, progressID(row)+"-") {
		t.Errorf("got %+v, want %+v", got, want)
	}
	w.touch("go")
	// What was not delivered before the reply is told no more.
	if r := w.spoken(1); len(r) != 1 || r[0].Kind != "reply" || r[0].Text != "done" {
		t.Errorf("%+v", r)
	}
}

// A per-turn agent tells by what it prints, also to a daemon that takes its run up.
func TestProgressOfATurn(t *testing.T) {
	w := newWorld(t)
	uses := `printf '{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash","input":{"command":"%s"}}]}}\n' `
	w.claude(uses + `"make one"; until [ -e ` + w.file("two") + ` ]; do sleep 0.01; done; ` +
		uses + `"make two"; until [ -e ` + w.file("go") + ` ]; do sleep 0.01; done; ` + answers)
	w.limits.Progress = 20 * time.Millisecond
	w.run()
	w.claim("c", "hello")
	says := func(text string) {
		t.Helper()
		until(t, text, func() bool { p := w.progress(); return len(p) == 1 && p[0].Text == "fake is at work: runs: "+text })
	}
	says("make one")
	first := w.progress()[0].ClientID
	must(t, w.store.Deliver(t.Context(), func(tx *store.Delivery) error { // it was delivered
		head, _ := tx.Head(account)
		return tx.DeleteOutbound(account, head.Seq)
	}))
	w.touch("two")
	says("make two")
	if w.progress()[0].ClientID == first {
		t.Error("two lines have one id: a platform would drop the second")
	}
	w.touch("go")
	if r := w.answered(1)[0]; r.Kind != "reply" || !strings.HasSuffix(r.Text, ": hello") {
		t.Errorf("%+v", r)
	}
}

func TestWhoHearsOfProgress(t *testing.T) {
	w := newWorld(t)
	w.limits.Progress = time.Second
	hears := func(change ...func(*store.Claim)) bool {
		row := store.ClaimRow{Account: account, Claim: store.Claim{Owner: true}}
		for _, f := range change {
			f(&row.Claim)
		}
		return w.engine.hearsProgress(row)
	}
	if !hears() {
		t.Error("the owner does not")
	}
	if hears(func(c *store.Claim) { c.Owner = false }) {
		t.Error("a stranger does")
	}
	if hears(func(c *store.Claim) { c.Job = &store.Job{} }) {
		t.Error("a chat hears of background work")
	}
	w.limits.Progress = 0
	if hears() {
		t.Error("who does not want to does")
	}
	w.limits.Progress = time.Second
	a := owned()
	a.RemoteTools = wire.ToolsNone
	w.set(a)
	if hears() {
		t.Error("an owner without tools does")
	}
}

// A line goes only where nothing waits, and never behind the reply.
func TestProgressStandsInNobodysWay(t *testing.T) {
	w := newWorld(t)
	row := w.claim("c", "hello")
	queued := func() bool {
		return w.engine.queueProgress(t.Context(), row, "fake", "runs: "+strings.Repeat("x", 1000))
	}
	must(t, w.store.Deliver(t.Context(), func(tx *store.Delivery) error {
		_, err := tx.AddOutbound(account, store.Outbound{Kind: "notice", Text: "waits"})
		return err
	}))
	if queued() {
		t.Error("it queues behind another message")
	}
	must(t, w.store.Deliver(t.Context(), func(tx *store.Delivery) error {
		head, _ := tx.Head(account)
		return tx.DeleteOutbound(account, head.Seq)
	}))
	if !queued() {
		t.Fatal("it does not queue")
	}
	if n := len(w.progress()[0].Text); n > maxDoing+len("fake is at work: ") {
		t.Errorf("a line of %d bytes", n)
	}
	if queued() {
		t.Error("it queues behind itself")
	}
	if !w.engine.finish(t.Context(), row, reply{kind: "reply", text: "done"}) {
		t.Fatal("no reply")
	}
	if r := w.replies(); len(r) != 1 || r[0].Text != "done" {
		t.Errorf("%+v", r)
	}
	must(t, w.store.Deliver(t.Context(), func(tx *store.Delivery) error {
		head, _ := tx.Head(account)
		return tx.DeleteOutbound(account, head.Seq)
	}))
	if queued() {
		t.Error("it comes after the reply")
	}
}

// typist remembers where somebody was shown to write.
type typist struct {
	words bool // its chats hear of progress besides
	began chan string
	ended chan struct{}
}

func (y *typist) Typing(ctx context.Context, chat, handle string) {
	y.began <- chat + " " + handle
	<-ctx.Done()
	y.ended <- struct{}{}
}

func (y *typist) TakesProgress() bool { return y.words }

// Where a platform shows that somebody writes, the owner's chat sees that and hears no progress, until the turn
// ends.
func TestWorkIsShownAsTyping(t *testing.T) {
	for _, live := range []bool{true, false} {
		w := newWorld(t)
		if live {
			w.stays([]testexe.ACPStep{{Tool: "runs"}, {Do: &testexe.Step{WaitFile: w.file("go")}}, {Say: "done"}})
		} else {
			w.agents = scripted(map[string]testexe.Script{"fake": {{Print: "done"}, {WaitFile: w.file("go")}}})
		}
		y := &typist{began: make(chan string, 2), ended: make(chan struct{}, 2)}
		w.typist, w.limits.Progress = y, time.Millisecond
		w.run()
		w.claim("c", "hello")
		if got := <-y.began; got != "chat c token" {
			t.Errorf("live %v: typing in %q", live, got)
		}
		if len(w.progress()) != 0 || len(y.ended) != 0 {
			t.Errorf("live %v: %d lines of progress, typing ended %d times", live, len(w.progress()), len(y.ended))
		}
		w.touch("go")
		w.spoken(1)
		<-y.ended
		w.stop()
	}
}

// Where a platform shows that somebody writes and words are welcome besides, both come.
func TestTypingAndWords(t *testing.T) {
	w := newWorld(t)
	w.stays([]testexe.ACPStep{{Tool: "runs"}, {Do: &testexe.Step{WaitFile: w.file("go")}}, {Say: "done"}})
	y := &typist{words: true, began: make(chan string, 1), ended: make(chan struct{}, 1)}
	w.typist, w.limits.Progress = y, time.Millisecond
	w.run()
	w.claim("c", "hello")
	<-y.began
	until(t, "a line of progress", func() bool { return len(w.progress()) > 0 })
	w.touch("go")
	<-y.ended
	w.stop()
}

// Only the owner is shown it: nobody else's turn says what it does, and nobody waits for background work.
func TestWhoSeesTyping(t *testing.T) {
	w := newWorld(t)
	y := &typist{began: make(chan string, 2), ended: make(chan struct{}, 2)}
	w.typist = y
	for _, claim := range []store.Claim{{}, {Owner: true, Job: &store.Job{}}} {
		w.engine.showWork(t.Context(), store.ClaimRow{Account: account, Claim: claim}, nil, nil)()
	}
	w.engine.turns.Wait()
	if len(y.began) != 0 {
		t.Errorf("typing in %q", <-y.began)
	}
}
