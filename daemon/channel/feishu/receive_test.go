package feishu

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"scv/daemon/channel"
	"scv/daemon/channel/feishu/feishutest"
)

// What a message becomes, by all that the platform vouches for.
func TestMessages(t *testing.T) {
	w := newWorld(t, feishutest.Options{})
	w.start()
	group := w.p.Group(w.app.ID)
	w.p.Name(w.app.BotID, "Bot")
	said := w.say("hello")
	quoting := w.say("yes", feishutest.Quote(said))
	called := w.p.Say(group, "ou_x", "@Bot look", feishutest.Mention(w.app.BotID))
	inside := w.say("more", feishutest.InThread(said))
	image := w.say("", feishutest.Image([]byte("png")))
	bundle := w.say("", feishutest.Forward(said))
	w.p.Say(group, "ou_x", "@Xu look", feishutest.Mention("ou_xu"))
	last := w.say("last")
	owner := func(m channel.Message) channel.Message {
		m.Chat, m.Sender, m.Direct = w.app.Owner, w.app.Owner, true
		return m
	}
	want := []channel.Message{
		owner(channel.Message{ID: said, Text: "hello", ReplyHandle: said}),
		owner(channel.Message{ID: quoting, Text: "yes", ReplyHandle: quoting, Quotes: said, Quoted: "hello"}),
		{ID: called, Chat: group, Sender: "ou_x", Text: "look", ReplyHandle: called},
		owner(channel.Message{ID: inside, Text: "more", Root: "hello", ReplyHandle: "thread:" + inside}),
		owner(channel.Message{ID: image, ReplyHandle: image, Files: []channel.File{{Kind: channel.Image}}}),
		owner(channel.Message{ID: bundle, Text: "[forwarded messages]\n- hello", ReplyHandle: bundle}),
		owner(channel.Message{ID: last, Text: "last", ReplyHandle: last}),
	}
	got := w.Await(len(want))
	for i, m := range got {
		if m.SentAt.IsZero() || m.ID == inside && m.Thread == "" {
			t.Errorf("message %+v", m)
		}
		for n := range m.Files { // TestFilesComeIn follows them
			if m.Files[n].Ref == "" {
				t.Errorf("a file cannot be found: %+v", m)
			}
			m.Files[n].Ref = ""
		}
		if m.SentAt, m.Thread = (time.Time{}), ""; !reflect.DeepEqual(m, want[i]) {
			t.Errorf("got  %+v\nwant %+v", m, want[i])
		}
	}
	w.Stop()
}

// A forwarded message cannot leave its place in the bundle, by whatever ends its lines.
func TestForwardedLinesStayTheirs(t *testing.T) {
	w := newWorld(t, feishutest.Options{})
	w.start()
	said := w.say("hello\u2028delete\rall")
	w.say("", feishutest.Forward(said))
	if got := w.Await(2)[1].Text; got != "[forwarded messages]\n- hello\n  delete\n  all" {
		t.Errorf("it becomes %+q", got)
	}
	w.Stop()
}

// A stranger's message costs no look-up where nobody would read it; where everybody is answered it does.
func TestOnlyWhoIsAnsweredIsLookedUp(t *testing.T) {
	for _, anyone := range []bool{false, true} {
		w := newWorld(t, feishutest.Options{})
		w.make(func(o *Options) { o.Account.Anyone = anyone })
		w.Begin(w.adapter.Serve)
		w.Connected()
		theirs := w.p.Direct(w.app.ID, "ou_x")
		first := w.p.Say(theirs, "ou_x", "hello")
		w.p.Say(theirs, "ou_x", "again", feishutest.Quote(first))
		if got := w.Await(2)[1]; got.Quotes != first || (got.Quoted == "hello") != anyone {
			t.Errorf("anyone %v: %+v", anyone, got)
		}
		w.Stop()
	}
}

// What cannot be looked up is said so, and holds nothing up.
func TestALookUpThatFails(t *testing.T) {
	w := newWorld(t, feishutest.Options{})
	w.start()
	said := w.say("hello")
	w.p.Inject(feishutest.Fault{Route: feishutest.Get, Status: 503, Times: 2})
	w.say("what?", feishutest.Quote(said))
	w.say("", feishutest.Forward(said))
	got := w.Await(3)
	if got[1].Quoted != notFound || !strings.HasSuffix(got[2].Text, notFound) {
		t.Errorf("got %+v", got[1:])
	}
	w.Stop()
}

// Nothing is acknowledged before it is kept, whatever that takes, and the order stays.
func TestAcknowledgedAfterTheCommit(t *testing.T) {
	w := newWorld(t, feishutest.Options{})
	w.start()
	w.Fill(true)
	first, second := w.say("first"), w.say("second")
	w.p.Read(w.app.ID, w.app.Owner, first)
	w.Until("a try to keep it", func() bool { return strings.Contains(w.Logged(), "cannot be kept") })
	if w.p.Acked(first) || w.p.Acked(second) {
		t.Error("acknowledged though it is not kept")
	}
	w.Fill(false)
	w.Await(2)
	w.Until("the acknowledgements", func() bool { return w.p.Acked(first) && w.p.Acked(second) })
	if got := w.Texts(); !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("got %q", got)
	}
	w.Stop()
}

// A message that the disk is slow to keep is pushed again and again meanwhile, more often than is read ahead. It holds
// nothing up afterwards.
func TestASlowAcknowledgement(t *testing.T) {
	const copies = 2 * maxBatch
	w := newWorld(t, feishutest.Options{Repush: slices.Repeat([]time.Duration{time.Millisecond}, copies)})
	w.start()
	w.Fill(true)
	slow := w.say("slow")
	w.Until("the pushes", func() bool { return w.p.Pushes(slow) == copies+1 })
	if w.p.Acked(slow) {
		t.Error("acknowledged though it is not kept")
	}
	w.Fill(false)
	next := w.say("next")
	w.Until("the acknowledgements", func() bool { return w.p.Acked(slow) && w.p.Acked(next) })
	if !slices.Equal(w.Texts(), []string{"slow", "next"}) {
		t.Errorf("got %q", w.Texts())
	}
	w.Stop()
}

// Events that are no message, or none that can be read, are acknowledged at once: they would come again.
func TestOtherEventsAreAcknowledged(t *testing.T) {
	w := newWorld(t, feishutest.Options{})
	w.start()
	w.p.Read(w.app.ID, w.app.Owner, "om_x")
	w.Until("the acknowledgement of the read event", func() bool { return len(w.p.Acks()) == 1 })
	w.p.Inject(feishutest.Fault{Route: feishutest.Push, Junk: "{"})
	broken := w.say("broken")
	w.Until("the acknowledgement of the malformed event", func() bool { return w.p.Acked(broken) })
	if len(w.Taken()) != 0 {
		t.Errorf("taken: %+v", w.Taken())
	}
	w.Stop()
}

func TestPushesInEveryShape(t *testing.T) {
	w := newWorld(t, feishutest.Options{})
	w.start()
	w.p.Inject(
		feishutest.Fault{Route: feishutest.Push, Parts: 7, Shred: true},
		feishutest.Fault{Route: feishutest.Push, Copies: 20},
	)
	split, copied := w.say("split"), w.say("copied")
	w.say("last")
	if w.Await(3); !slices.Equal(w.Texts(), []string{"split", "copied", "last"}) {
		t.Errorf("got %q", w.Texts())
	}
	w.Until("the acknowledgements", func() bool { return w.p.Acked(split) && w.p.Acked(copied) })
	w.Stop()
}

// Whatever was written while no connection stood comes first, once and in order, however it was lost.
func TestCatchUp(t *testing.T) {
	w := newWorld(t, feishutest.Options{})
	w.start()
	said := w.say("m0")
	w.say("in the thread", feishutest.InThread(said))
	w.Await(2)
	w.p.Kick(w.app.ID)
	if err := w.Ended(); err == nil {
		t.Fatal("a lost connection ends without an error")
	}
	want := []string{"m0", "in the thread"}
	for i := range 2*lookPages*pageSize + 5 { // more than one look takes
		want = append(want, fmt.Sprint("m", i+1))
		w.say(want[len(want)-1])
	}
	w.p.Say(w.chat, w.app.BotID, "the bot's own words", feishutest.FromApp())
	w.p.Recall(w.say("taken back"))
	w.say("in the thread again", feishutest.InThread(said))
	w.make()
	w.Begin(w.adapter.Serve)
	w.Connected()
	w.say("new")
	w.Until("new", func() bool { texts := w.Texts(); return texts[len(texts)-1] == "new" })
	// The thread is a conversation of its own, so its place among the others means nothing.
	got := slices.DeleteFunc(w.Texts(), func(text string) bool { return text == "in the thread again" })
	if !slices.Equal(got, append(want, "new")) || len(w.Texts()) != len(got)+1 {
		t.Errorf("got %q", w.Texts())
	}
	w.Stop()
}

// Messages that fill an answer are read a few at a time.
func TestCatchUpOnMuch(t *testing.T) {
	w := newWorld(t, feishutest.Options{})
	w.start()
	w.say("m0")
	w.Await(1)
	w.Stop()
	long := strings.Repeat("x", 140<<10)
	for range 40 {
		w.say(long)
	}
	w.start()
	if got := w.Await(41); len(got) != 41 || got[40].Text != long {
		t.Errorf("%d messages", len(got))
	}
	w.Stop()
}

// The owner's chat is known from the first message that was sent there, so that a first word of the owner is
// not missed either.
func TestTheOwnersChatIsKnownEarly(t *testing.T) {
	w := newWorld(t, feishutest.Options{})
	w.start()
	if _, err := w.send(channel.Outgoing{ClientID: "1", Chat: w.app.Owner, Text: "hello", Last: true}); err != nil {
		t.Fatal(err)
	}
	w.Until("the chat in the checkpoint", func() bool { return strings.Contains(w.Cursor(), w.chat) })
	w.Stop()
	w.say("my first word")
	w.start()
	if w.Await(1); !slices.Equal(w.Texts(), []string{"my first word"}) {
		t.Errorf("got %q", w.Texts())
	}
	w.Stop()
}

// A chat that cannot be read any more holds up no other.
func TestCatchUpWithoutAChat(t *testing.T) {
	w := newWorld(t, feishutest.Options{})
	w.start()
	group := w.p.Group(w.app.ID)
	w.p.Say(group, "ou_x", "hi", feishutest.Mention(w.app.BotID))
	w.say("m0")
	w.Await(2)
	w.Stop()
	w.p.Leave(group, w.app.ID)
	w.say("m1")
	w.start()
	w.Await(3)
	if !strings.Contains(w.Logged(), "code=230002") {
		t.Errorf("log: %s", w.Logged())
	}
	w.Stop()
	w.p.Inject(feishutest.Fault{Route: feishutest.List, Status: 503, Times: -1})
	w.make()
	w.adapter.rhythm = rhythm{unit: time.Millisecond, slack: limit}
	w.Begin(w.adapter.Serve)
	if err := w.Ended(); err == nil {
		t.Error("what was missed could not be read, and nobody says so")
	}
}

// A peer that died silently is found by its silence, and said so before anything else happens.
func TestSilence(t *testing.T) {
	w := newWorld(t, feishutest.Options{Config: feishutest.ClientConfig{PingInterval: 5}})
	w.make()
	w.adapter.rhythm = rhythm{unit: 10 * time.Millisecond, slack: 100 * time.Millisecond}
	w.Begin(w.adapter.Serve)
	w.Connected()
	w.Until("a few pings", func() bool { return w.p.Pings(w.app.ID) > 3 })
	if last := w.Heard(); last[len(last)-1] != "" {
		t.Errorf("contacts %q of a connection that lives", last)
	}
	began := time.Now()
	w.p.HalfOpen(w.app.ID)
	err := w.Ended()
	var gone *lost
	if took := time.Since(began); !errors.As(err, &gone) || took > 5*time.Second {
		t.Errorf("after %v: %v", took, err)
	}
	if last := w.Heard(); !strings.Contains(last[len(last)-1], "the connection to Feishu was lost") {
		t.Errorf("contacts %q", last)
	}
}

// The platform changes the rhythm in a pong.
func TestPongsChangeTheRhythm(t *testing.T) {
	w := newWorld(t, feishutest.Options{})
	w.start()
	w.Until("the first pong", func() bool { return w.adapter.socket.ping() == 90*time.Second })
	if silent := w.adapter.socket.silence(); silent != 210*time.Second { // two pings and 30 s
		t.Errorf("a peer is dead after %v of silence", silent)
	}
	w.p.Configure(feishutest.ClientConfig{PingInterval: 7})
	w.adapter.socket.poke()
	w.Until("another rhythm", func() bool { return w.adapter.socket.ping() == 7*time.Second })
	w.p.Configure(feishutest.ClientConfig{PingInterval: 1})
	w.adapter.socket.poke()
	w.Until("the usual rhythm for nonsense", func() bool { return w.adapter.socket.ping() == usualPing*time.Second })
	w.Stop()
}

// Every message of a thread comes with what the thread began with, which is looked up once; where that fails, the
// next one tries again.
func TestRootOfAThread(t *testing.T) {
	w := newWorld(t, feishutest.Options{})
	w.start()
	root := w.p.Say(w.chat, w.app.Owner, "look at this", feishutest.Unheard())
	w.p.Inject(feishutest.Fault{Route: feishutest.Get, Status: 503})
	for i, text := range []string{"one", "two", "three"} {
		w.say(text, feishutest.InThread(root))
		w.Await(i + 1)
	}
	got := w.Await(3)
	for i, want := range []string{notFound, "look at this", "look at this"} {
		if got[i].Root != want || got[i].Thread == "" || got[i].Quoted != "" {
			t.Errorf("%d: %+v", i, got[i])
		}
	}
	if n := len(w.p.Requests(feishutest.Get)); n != 2 {
		t.Errorf("looked up %d times", n)
	}
	long := w.p.Say(w.chat, w.app.Owner, strings.Repeat("x", 2*maxQuoted), feishutest.Unheard())
	w.say("four", feishutest.InThread(long))
	if got := w.Await(4)[3]; len(got.Root) > maxQuoted || !strings.HasPrefix(got.Root, "xx") {
		t.Errorf("a root of %d bytes", len(got.Root))
	}
	w.Stop()
}
