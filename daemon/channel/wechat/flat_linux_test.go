package wechat

import (
	"os"
	"runtime"
	"testing"
	"time"

	"scv/daemon/channel"
	"scv/daemon/channel/wechat/wechattest"
)

// Hundreds of lost connections, of polls and of sends, leave neither descriptors nor goroutines behind.
func TestLostConnectionsAreFlat(t *testing.T) {
	w := newWorld(t, wechattest.Options{})
	w.start(func(a *Adapter) { a.retry, a.slow = time.Microsecond, time.Microsecond })
	var files, goroutines int
	for i := range 300 {
		polls := len(w.p.Requests(wechattest.Updates))
		w.p.Inject(wechattest.Fault{Route: wechattest.Updates, Cut: true}, wechattest.Fault{Route: wechattest.Send, Cut: true})
		w.p.Release()
		if _, err := w.send(channel.Outgoing{ClientID: "1", Chat: w.bot.Owner, Kind: channel.Reply, Text: "hello"}); err == nil {
			t.Fatal("a send that was cut works")
		}
		w.until("another poll", func() bool { return len(w.p.Requests(wechattest.Updates)) > polls })
		if i == 20 {
			files, goroutines = openFiles(t), runtime.NumGoroutine()
		}
	}
	w.until("as many descriptors and goroutines as before", func() bool {
		return openFiles(t) <= files+2 && runtime.NumGoroutine() <= goroutines+4
	})
	w.stop()
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
