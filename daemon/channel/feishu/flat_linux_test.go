package feishu

import (
	"os"
	"runtime"
	"testing"

	"scv/daemon/channel/feishu/feishutest"
)

// A thousand connections, each lost, leave neither descriptors nor goroutines behind.
func TestReconnectsAreFlat(t *testing.T) {
	w := newWorld(t, feishutest.Options{})
	platform, err := StandIn(w.p.PlainURL(), Feishu)
	if err != nil {
		t.Fatal(err)
	}
	client := w.p.Client()
	var files, goroutines int
	for i := range 1000 {
		w.make(func(o *Options) { o.HTTP, o.Platform = client, platform })
		w.begin()
		w.connected()
		w.p.Kick(w.app.ID)
		if w.ended() == nil {
			t.Fatal("a lost connection ends without an error")
		}
		if i == 20 {
			files, goroutines = openFiles(t), runtime.NumGoroutine()
		}
	}
	w.until("as many descriptors and goroutines as before", func() bool {
		return openFiles(t) <= files+2 && runtime.NumGoroutine() <= goroutines+4
	})
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
