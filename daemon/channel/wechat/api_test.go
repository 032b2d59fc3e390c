package wechat

import (
	"net/http"
	"path"
	"testing"
	"time"

	"scv/daemon/channel"
	"scv/daemon/channel/wechat/wechattest"
)

// watched is a client's connections that keep for each request how long it may take, by the last word of its path.
type watched struct {
	http.RoundTripper
	limits  map[string]time.Duration
	randoms map[string]bool // of X-WECHAT-UIN
	signed  int
}

func (w *watched) RoundTrip(r *http.Request) (*http.Response, error) {
	limit := time.Duration(-1) // none
	if at, bound := r.Context().Deadline(); bound {
		limit = time.Until(at)
	}
	w.limits[path.Base(r.URL.Path)] = limit
	if random := r.Header.Get("X-WECHAT-UIN"); random != "" {
		w.randoms[random], w.signed = true, w.signed+1
	}
	return w.RoundTripper.RoundTrip(r)
}

// Every request has a bound, whatever the caller's: a platform that hangs holds nobody up longer. Each that is signed
// has a random word of its own.
func TestBoundsOfRequests(t *testing.T) {
	p := wechattest.New(t, wechattest.Options{Hold: time.Nanosecond})
	bot, client := p.Bot(), p.Client()
	seen := &watched{client.Transport, map[string]time.Duration{}, map[string]bool{}, 0}
	client.Transport = seen
	o := optionsFor(p, bot, channel.Host{Contact: func(error) {}})
	o.HTTP = client
	w := &world{t: t, p: p, bot: bot, adapter: New(o)}
	if _, err := w.adapter.greet(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := w.adapter.api.updates(t.Context(), "", w.adapter.rhythm.poll)
	if err != nil || len(got.messages) != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	out := channel.Outgoing{ClientID: "1", Chat: bot.Owner, Kind: channel.Reply, File: w.file("a.txt", letters, channel.Document)}
	if _, err := w.adapter.Send(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	ref := `{"url":"https://novac2c.cdn.weixin.qq.com/c2c/download?encrypted_query_param=none"}`
	if _, err := w.fetch(channel.File{Ref: ref}, 100); err == nil {
		t.Error("a file that is not there came")
	}
	for what, want := range map[string]time.Duration{
		"getconfig": 5 * time.Second, "getupdates": 50 * time.Second, "getuploadurl": 20 * time.Second,
		"upload": 120 * time.Second, "download": 120 * time.Second, "sendmessage": 20 * time.Second,
	} {
		if got := seen.limits[what]; got > want || got < want-4*time.Second { // some of it has passed
			t.Errorf("%s may take %v, not %v", what, got, want)
		}
	}
	if len(seen.randoms) != seen.signed || seen.signed < 4 {
		t.Errorf("%d random words of %d requests", len(seen.randoms), seen.signed)
	}
}
