package feishu

import (
	"context"
	"testing"

	"scv/daemon/channel"
	"scv/daemon/channel/feishu/feishutest"
)

// A message that is being answered carries a reaction until it is, also where the end comes before the
// platform has said that it stands; and a platform that refuses it costs nothing else.
func TestTyping(t *testing.T) {
	w := newWorld(t, feishutest.Options{})
	w.start()
	said := w.say("hello")
	inside := w.say("more", feishutest.InThread(said))
	w.Await(2)
	for i, handle := range []string{said, inThread + inside} {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.adapter.react(ctx, handle) }()
		w.Until("a reaction", func() bool { return len(w.p.Reactions()) == i+1 })
		if r := w.p.Reactions()[i]; r.Removed || r.Emoji != typing || r.MessageID != []string{said, inside}[i] {
			t.Errorf("meanwhile %+v", r)
		}
		cancel()
		if err := <-ended; err != nil || !w.p.Reactions()[i].Removed {
			t.Errorf("at the end: %v, %+v", err, w.p.Reactions()[i])
		}
	}

	asked := len(w.p.Requests(feishutest.React))
	ctx, cancel := context.WithCancel(t.Context())
	w.p.Inject(feishutest.Fault{Route: feishutest.React, Delay: reactTime / 4})
	ended := make(chan error, 1)
	go func() { ended <- w.adapter.react(ctx, said) }()
	w.Until("the request", func() bool { return len(w.p.Requests(feishutest.React)) > asked })
	cancel()
	if err := <-ended; err != nil || len(w.p.Reactions()) != 3 || !w.p.Reactions()[2].Removed {
		t.Errorf("cut short: %v, %+v", err, w.p.Reactions())
	}

	w.p.Inject(feishutest.Fault{Route: feishutest.React, Code: noScope, Status: 400})
	if err := w.adapter.react(t.Context(), said); err == nil {
		t.Error("a refusal is no error")
	}
	if _, err := w.send(channel.Outgoing{ClientID: "r1", Chat: w.app.Owner, Text: "still here"}); err != nil {
		t.Errorf("after a refused reaction: %v", err)
	}
	w.Stop()
}
