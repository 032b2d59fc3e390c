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

// TestFeishuSurvivesKills kills the daemon and cuts its connection at random moments while its owner writes:
// every message gets exactly one reply, the agent's or the word that it was interrupted. SCV_KILLS sets how
// many kills, SCV_CRASH_SEED repeats a run.
func TestFeishuSurvivesKills(t *testing.T) {
	t.Parallel()
	home, p := newPlatform(t)
	k := newKills(t, home, "feishu", p.PlainURL(), 9)
	app := p.Apps()[len(p.Apps())-1]
	chat := p.Direct(app.ID, app.Owner)
	k.write = func(text string) string { return p.Say(chat, app.Owner, text) }
	k.spoil = func(say func()) {
		say()
		if k.random.IntN(4) == 0 {
			p.Kick(app.ID)
		}
	}
	k.heal = func() {}
	k.sent = func() (all []sentReply) {
		for _, s := range p.Sent() {
			all = append(all, sentReply{s.ReplyTo, s.Text, false})
		}
		return all
	}
	k.run()
}

// TestWeChatSurvivesKills does the same and spoils requests; no reply is spent on a token that was used up, where
// nobody would see it.
func TestWeChatSurvivesKills(t *testing.T) {
	t.Parallel()
	home, p := newWeChat(t, wechattest.Options{})
	k := newKills(t, home, "wechat", p.PlainURL(), 10)
	bot := p.Bots()[1]
	k.write = func(text string) string { return p.Say(bot.ID, bot.Owner, text) }
	k.spoil = func(say func()) {
		if k.random.IntN(2) == 0 {
			p.Inject(spoil[k.random.IntN(len(spoil))])
		}
		say()
	}
	k.heal = p.Heal
	k.sent = func() (all []sentReply) {
		for _, s := range p.Sent() {
			all = append(all, sentReply{s.ReplyTo, s.Text, s.Dropped})
		}
		return all
	}
	k.run()
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

// kills is an owner who writes to a daemon that is killed again and again.
type kills struct {
	t      *testing.T
	random *rand.Rand
	home   string
	id     string // of the account
	d      *daemonProcess
	said   map[string]string // id → text

	write func(text string) (id string)
	spoil func(say func()) // says something, and perhaps something on the way goes wrong, which passes
	heal  func()           // what has not passed yet
	sent  func() []sentReply
}

// sentReply is what the account sent. Nobody sees what is dropped.
type sentReply struct {
	to, text string
	dropped  bool
}

// newKills signs in and gives the owner an agent.
func newKills(t *testing.T, home, channel, standIn string, stream uint64) *kills {
	t.Helper()
	seed := uint64(number(t, "SCV_CRASH_SEED", int(time.Now().UnixNano()%1e9)))
	t.Logf("seed %d (SCV_CRASH_SEED=%d repeats it)", seed, seed)
	writeConfig(t, home, fmt.Sprintf("[agents.cat]\ncommand = [\"cat\"]\n[%s]\nstand_in = %q\n"+
		"[timing]\nreconcile = \"20ms\"\nbackoff_min = \"10ms\"\nbackoff_max = \"50ms\"\n", channel, standIn))
	if got := at(t, home).scv("channels", "login", channel); got.code != 0 {
		t.Fatalf("got %+v", got)
	}
	return &kills{
		t: t, random: rand.New(rand.NewPCG(seed, stream)), home: home, id: channel + ":default", said: map[string]string{},
	}
}

func (k *kills) run() {
	k.t.Helper()
	k.begin()
	if got := at(k.t, k.home).scv("channels", "set", k.id, "--remote-tools", "owner"); got.code != 0 {
		k.t.Fatalf("got %+v", got)
	}
	k.d.component(k.t, k.id, wire.Connected)
	k.say() // the chat is known from here on
	until(k.t, "the first reply", func() bool { return k.replies() == 1 })
	for range number(k.t, "SCV_KILLS", 6) {
		k.round()
	}
	k.conclude()
}

func (k *kills) begin() {
	k.d = startDaemon(k.t, k.home)
	k.d.component(k.t, k.id, wire.Connected)
}

func (k *kills) say() {
	text := fmt.Sprintf("message %d.", len(k.said))
	k.said[k.write(text)] = text
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
		k.spoil(k.say)
		time.Sleep(time.Duration(k.random.IntN(20)) * time.Millisecond)
	}
	<-killed
	k.heal()
	k.say() // while nobody is there
	k.begin()
}

// replies counts replies to messages that their owner sees: what was said first has nothing to do with what is
// announced.
func (k *kills) replies() (n int) {
	for _, s := range k.sent() {
		if k.said[s.to] != "" && !s.dropped {
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
	for _, s := range k.sent() {
		if replies[s.to] = append(replies[s.to], s.text); s.dropped {
			k.t.Errorf("spent where nobody sees it: %q", s.text)
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
