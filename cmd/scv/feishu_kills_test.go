package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"scv/daemon/channel/feishu/feishutest"
	"scv/wire"
)

// TestFeishuSurvivesKills kills the daemon and cuts its connection at random moments while its owner writes:
// every message gets exactly one reply, the agent's or the word that it was interrupted. SCV_KILLS sets how
// many kills, SCV_CRASH_SEED repeats a run.
func TestFeishuSurvivesKills(t *testing.T) {
	t.Parallel()
	seed := uint64(number(t, "SCV_CRASH_SEED", int(time.Now().UnixNano()%1e9)))
	t.Logf("seed %d (SCV_CRASH_SEED=%d repeats it)", seed, seed)
	k := &kills{t: t, random: rand.New(rand.NewPCG(seed, 9))}
	k.begin()
	for range number(t, "SCV_KILLS", 6) {
		k.round()
	}
	k.conclude()
}

// kills is an owner who writes to a daemon that is killed again and again.
type kills struct {
	t      *testing.T
	random *rand.Rand
	p      *feishutest.Platform
	home   string
	app    string
	chat   string
	owner  string
	d      *daemonProcess
	said   map[string]string // id → text
}

func (k *kills) begin() {
	k.home, k.p = newPlatform(k.t)
	writeConfig(k.t, k.home, fmt.Sprintf("[agents.cat]\ncommand = [\"cat\"]\n[feishu]\nstand_in = %q\n"+
		"[timing]\nreconcile = \"20ms\"\nbackoff_min = \"10ms\"\nbackoff_max = \"50ms\"\n", k.p.PlainURL()))
	if got := at(k.t, k.home).scv("channels", "login", "feishu"); got.code != 0 {
		k.t.Fatalf("got %+v", got)
	}
	apps := k.p.Apps()
	app := apps[len(apps)-1]
	k.app, k.chat, k.owner, k.said = app.ID, k.p.Direct(app.ID, app.Owner), app.Owner, map[string]string{}
	k.d = startDaemon(k.t, k.home)
	k.d.component(k.t, "feishu:default", wire.Connected)
	if got := at(k.t, k.home).scv("channels", "set", "feishu:default", "--remote-tools", "owner"); got.code != 0 {
		k.t.Fatalf("got %+v", got)
	}
	k.d.component(k.t, "feishu:default", wire.Connected)
	k.say() // the chat is known from here on
	until(k.t, "the first reply", func() bool { return k.replies() == 1 })
}

func (k *kills) say() {
	text := fmt.Sprintf("message %d.", len(k.said))
	k.said[k.p.Say(k.chat, k.owner, text)] = text
}

// round writes a few messages, and kills somewhere among what they cause.
func (k *kills) round() {
	wait := time.Duration(k.random.IntN(60)) * time.Millisecond
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		time.Sleep(wait)
		k.d.kill()
	}()
	for range 1 + k.random.IntN(4) {
		k.say()
		if k.random.IntN(4) == 0 {
			k.p.Kick(k.app)
		}
		time.Sleep(time.Duration(k.random.IntN(20)) * time.Millisecond)
	}
	<-killed
	k.say() // while nobody is there
	k.d = startDaemon(k.t, k.home)
	k.d.component(k.t, "feishu:default", wire.Connected)
}

// replies counts replies to messages: what was said first has nothing to do with what is announced.
func (k *kills) replies() (n int) {
	for _, s := range k.p.Sent() {
		if k.said[s.ReplyTo] != "" {
			n++
		}
	}
	return n
}

func (k *kills) conclude() {
	k.t.Helper()
	until(k.t, "a reply to everything", func() bool { return k.replies() >= len(k.said) })
	k.d.terminate(k.t)
	replies := map[string][]string{}
	answered := 0
	for _, s := range k.p.Sent() {
		replies[s.ReplyTo] = append(replies[s.ReplyTo], s.Text)
	}
	for id, text := range k.said {
		got := replies[id]
		if len(got) != 1 {
			k.t.Errorf("%q got %d replies: %q", text, len(got), got)
			continue
		}
		if strings.Contains(got[0], text) {
			answered++
		}
	}
	k.t.Logf("%d messages, %d answered, %d told why not", len(k.said), answered, len(k.said)-answered)
	if answered == 0 {
		k.t.Error("no message was answered at all")
	}
}
