package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"scv/daemon/channel/wechat/wechattest"
	"scv/wire"
)

// TestWeChatSurvivesKills kills the daemon and spoils its requests at random moments while its owner writes:
// every message gets exactly one reply that its owner sees, the agent's or the word that it was interrupted, and
// no reply is spent on a token that was used up. SCV_KILLS sets how many kills, SCV_CRASH_SEED repeats a run.
func TestWeChatSurvivesKills(t *testing.T) {
	t.Parallel()
	seed := uint64(number(t, "SCV_CRASH_SEED", int(time.Now().UnixNano()%1e9)))
	t.Logf("seed %d (SCV_CRASH_SEED=%d repeats it)", seed, seed)
	k := &wechatKills{t: t, random: rand.New(rand.NewPCG(seed, 10)), said: map[string]string{}}
	k.begin()
	for range number(t, "SCV_KILLS", 6) {
		k.round()
	}
	k.conclude()
}

// wechatKills is an owner who writes to a daemon that is killed again and again.
type wechatKills struct {
	t      *testing.T
	random *rand.Rand
	p      *wechattest.Platform
	home   string
	bot    wechattest.Bot
	d      *daemonProcess
	said   map[string]string // id → text
}

func (k *wechatKills) begin() {
	k.home, k.p = newWeChat(k.t, wechattest.Options{})
	writeConfig(k.t, k.home, fmt.Sprintf("[agents.cat]\ncommand = [\"cat\"]\n[wechat]\nstand_in = %q\n"+
		"[timing]\nreconcile = \"20ms\"\nbackoff_min = \"10ms\"\nbackoff_max = \"50ms\"\n", k.p.PlainURL()))
	if got := at(k.t, k.home).scv("channels", "login", "wechat"); got.code != 0 {
		k.t.Fatalf("got %+v", got)
	}
	k.bot = k.p.Bots()[1]
	k.d = startDaemon(k.t, k.home)
	k.d.component(k.t, "wechat:default", wire.Connected)
	if got := at(k.t, k.home).scv("channels", "set", "wechat:default", "--remote-tools", "owner"); got.code != 0 {
		k.t.Fatalf("got %+v", got)
	}
	k.d.component(k.t, "wechat:default", wire.Connected)
	k.say()
	until(k.t, "the first reply", func() bool { return k.replies() == 1 })
}

func (k *wechatKills) say() {
	text := fmt.Sprintf("message %d.", len(k.said))
	k.said[k.p.Say(k.bot.ID, k.bot.Owner, text)] = text
}

// spoil are things that go wrong on the way, each of which passes.
var spoil = []wechattest.Fault{
	{Route: wechattest.Send, Status: 503, Late: true}, // accepted, and nobody knows
	{Route: wechattest.Send, Status: 503},
	{Route: wechattest.Send, Cut: true, Late: true},
	{Route: wechattest.Updates, Clip: true},
	{Route: wechattest.Updates, Copies: 1},
	{Route: wechattest.Updates, Again: true},
	{Route: wechattest.Updates, Status: 502},
}

// round writes a few messages, and kills somewhere among what they cause.
func (k *wechatKills) round() {
	wait := time.Duration(k.random.IntN(60)) * time.Millisecond
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		time.Sleep(wait)
		k.d.kill()
	}()
	for range 1 + k.random.IntN(4) {
		if k.random.IntN(2) == 0 {
			k.p.Inject(spoil[k.random.IntN(len(spoil))])
		}
		k.say()
		time.Sleep(time.Duration(k.random.IntN(20)) * time.Millisecond)
	}
	<-killed
	k.p.Heal()
	k.say() // while nobody is there
	k.d = startDaemon(k.t, k.home)
	k.d.component(k.t, "wechat:default", wire.Connected)
}

// replies counts replies to messages that their owner sees.
func (k *wechatKills) replies() (n int) {
	for _, s := range k.p.Sent() {
		if k.said[s.ReplyTo] != "" && !s.Dropped {
			n++
		}
	}
	return n
}

func (k *wechatKills) conclude() {
	k.t.Helper()
	until(k.t, "a reply to everything", func() bool { return k.replies() >= len(k.said) })
	k.d.terminate(k.t)
	replies := map[string][]string{}
	answered := 0
	for _, s := range k.p.Sent() {
		if replies[s.ReplyTo] = append(replies[s.ReplyTo], s.Text); s.Dropped {
			k.t.Errorf("spent on a token that was used up: %q", s.Text)
		}
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
