package wechat

import (
	"context"
	"testing"
	"time"

	"scv/daemon/channel/wechat/wechattest"
)

// types shows typing until stop, which waits.
func (w *world) types(handle string) (stop func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.adapter.Typing(ctx, w.bot.Owner, handle)
	}()
	return func() {
		w.t.Helper()
		cancel()
		select {
		case <-ended:
		case <-time.After(limit):
			w.t.Error("typing does not end")
		}
	}
}

func TestTyping(t *testing.T) {
	w := newWorld(t, wechattest.Options{})
	w.make()
	stop := w.types("token")
	w.Until("some signs", func() bool { return len(w.p.Typings()) >= 3 })
	stop()
	all := w.p.Typings()
	for i, sign := range all {
		if sign.User != w.bot.Owner || sign.Ends != (i == len(all)-1) {
			t.Errorf("sign %d: %+v", i, sign)
		}
	}
	if n := len(w.p.Requests(wechattest.Config)); n != 1 {
		t.Errorf("%d tickets", n)
	}
}

// Typing that fails is given up, and says nothing of the account.
func TestTypingThatFails(t *testing.T) {
	for _, fault := range []wechattest.Fault{
		{Route: wechattest.Config, Status: 503},
		{Route: wechattest.Config, Ret: -14},
		{Route: wechattest.Config, Body: "{}"},
		{Route: wechattest.Type, Ret: -2},
		{Route: wechattest.Type, Cut: true},
	} {
		w := newWorld(t, wechattest.Options{})
		w.make()
		w.p.Inject(fault)
		ended := make(chan struct{})
		go func() { defer close(ended); w.adapter.Typing(t.Context(), w.bot.Owner, "token") }()
		select {
		case <-ended:
		case <-time.After(limit):
			t.Fatalf("%+v: it goes on", fault)
		}
		if len(w.p.Typings()) != 0 || len(w.Heard()) != 0 {
			t.Errorf("%+v: typing %+v, contacts %q", fault, w.p.Typings(), w.Heard())
		}
	}
}

// A platform that hangs holds the end of a turn up by no more than the last sign's time.
func TestTypingThatHangs(t *testing.T) {
	w := newWorld(t, wechattest.Options{})
	w.make(func(a *Adapter) { a.hush = 20 * time.Millisecond })
	w.p.Inject(wechattest.Fault{Route: wechattest.Type, Delay: time.Hour, Times: -1})
	stop := w.types("token")
	w.Until("the first sign", func() bool { return len(w.p.Requests(wechattest.Type)) == 1 })
	began := time.Now()
	stop()
	if took := time.Since(began); took > limit/2 {
		t.Errorf("it took %v", took)
	}
}

func TestNoTypingInGroups(t *testing.T) {
	w := newWorld(t, wechattest.Options{})
	w.make().Typing(t.Context(), "g", handleInGroup("someone", "token"))
	if n := len(w.p.Requests(wechattest.Config)); n != 0 {
		t.Errorf("%d requests", n)
	}
}
