package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"scv/wire"
)

// chatDaemon is a fake with a local chat: lines are kept, and told as events unless it is mute.
type chatDaemon struct {
	*fake
	mu    sync.Mutex
	lines []wire.ChatLine
	mute  bool
	heard func(m wire.ChatSend) // after the message is stored
}

func newChatDaemon(t *testing.T) *chatDaemon {
	d := &chatDaemon{fake: newFake(t)}
	d.script(wire.SubjectChatSend, func(data []byte) (any, error) {
		m, err := wire.DecodeRequest[wire.ChatSend](data)
		if err != nil {
			return nil, err
		}
		if seq, known := d.find(m.ID); known {
			return wire.ChatSent{ID: m.ID, Seq: seq, Duplicate: true}, nil
		}
		seq := d.add(wire.ChatLine{Kind: wire.ChatOwner, Text: m.Text, MessageID: &m.ID})
		if d.heard != nil {
			d.heard(m)
		}
		return wire.ChatSent{ID: m.ID, Seq: seq}, nil
	})
	d.script(wire.SubjectChatAttach, func(data []byte) (any, error) {
		r, err := wire.DecodeRequest[wire.ChatAttach](data)
		if err != nil {
			return nil, err
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		got := wire.ChatAttached{NewestSeq: uint64(len(d.lines)), Lines: []wire.ChatLine{}, Questions: []wire.ConfirmDetail{fakeQuestion()}}
		if r.AfterSeq != nil {
			got.Lines = append(got.Lines, d.lines[*r.AfterSeq:]...)
		}
		return got, nil
	})
	return d
}

func (d *chatDaemon) find(id string) (uint64, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range d.lines {
		if l.MessageID != nil && *l.MessageID == id {
			return l.Seq, true
		}
	}
	return 0, false
}

func (d *chatDaemon) add(l wire.ChatLine) uint64 {
	d.mu.Lock()
	l.Seq, l.AtUnixMillis = uint64(len(d.lines)+1), 1764400000000
	d.lines = append(d.lines, l)
	mute := d.mute
	d.mu.Unlock()
	if !mute {
		d.publish(wire.EventChat+"default", l)
	}
	return l.Seq
}

// say adds a line that ends the answer to message id, or none where id is "".
func (d *chatDaemon) say(kind wire.ChatLineKind, text, id string) {
	l := wire.ChatLine{Kind: kind, Text: text}
	if id != "" {
		l.InReplyTo = &id
	}
	d.add(l)
}

func (d *chatDaemon) setMute(mute bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mute = mute
}

// sentID is the id of the first message that was sent.
func (d *chatDaemon) sentID(t *testing.T) string {
	t.Helper()
	m, err := wire.Decode[wire.ChatSend]([]byte(d.requests(wire.SubjectChatSend)[0].data))
	if err != nil {
		t.Fatal(err)
	}
	return m.ID
}

func (d *chatDaemon) messages() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var texts []string
	for _, l := range d.lines {
		if l.Kind == wire.ChatOwner {
			texts = append(texts, l.Text)
		}
	}
	return texts
}

// TestSendPrintsItsOwnAnswer: all parts of it, and nothing of what else is said meanwhile.
func TestSendPrintsItsOwnAnswer(t *testing.T) {
	d := newChatDaemon(t)
	d.add(wire.ChatLine{Kind: wire.ChatReply, Text: "an old half"})
	d.heard = func(m wire.ChatSend) {
		d.say(wire.ChatReply, "another's first half", "")
		d.say(wire.ChatReply, "another's last half", "another")
		d.say(wire.ChatNotice, "something happened", "")
		d.say(wire.ChatProgress, "fake is at work:\x1b[2J make", "")
		d.say(wire.ChatReply, "first\x1b[2J half", "")
		d.say(wire.ChatReply, "second\nhalf", m.ID)
		d.say(wire.ChatReply, "too late", m.ID)
	}
	got := at(t, d.home).scv("chat", "--send", "hi there")
	if want := `first\x1b[2J half` + "\nsecond\nhalf\n"; got.code != 0 || got.out != want || got.errOut != "· fake is at work:\\x1b[2J make\n" {
		t.Errorf("exit %d, stdout %q, stderr %q", got.code, got.out, got.errOut)
	}
}

// TestSendEndings: how a turn can end, and its exit code.
func TestSendEndings(t *testing.T) {
	for _, c := range []struct {
		kind        wire.ChatLineKind
		code        int
		out, errOut string
	}{
		{wire.ChatReply, 0, "text\n", ""},
		{wire.ChatNotice, 0, "text\n", ""}, // how an answer to a question is acknowledged
		{wire.ChatFailure, 1, "", "scv: text\n"},
	} {
		d := newChatDaemon(t)
		d.heard = func(m wire.ChatSend) { d.say(c.kind, "text", m.ID) }
		got := at(t, d.home).scv("chat", "--send", "hi")
		if got.code != c.code || got.out != c.out || got.errOut != c.errOut {
			t.Errorf("%s: exit %d, stdout %q, stderr %q", c.kind, got.code, got.out, got.errOut)
		}
	}
}

func TestSendTakesTooLong(t *testing.T) {
	d := newChatDaemon(t)
	got := at(t, d.home).scv("chat", "--send", "hi", "--timeout", "50ms")
	if got.code != 1 || got.out != "" || !strings.HasPrefix(got.errOut, "scv: no answer within 50ms\n") || !strings.Contains(got.errOut, "scv chat") {
		t.Errorf("exit %d, stdout %q, stderr %q", got.code, got.out, got.errOut)
	}
}

func TestSendIsRefused(t *testing.T) {
	f := newFake(t)
	f.script(wire.SubjectChatSend, func([]byte) (any, error) { return nil, wire.Refuse(wire.Forbidden, "an agent may not") })
	if got := at(t, f.home).scv("chat", "--send", "yes"); got.code != 1 || !strings.HasPrefix(got.errOut, "scv: an agent may not\n") {
		t.Errorf("exit %d, stderr %q", got.code, got.errOut)
	}
}

// TestSendSurvivesCrashes: before and after the message is stored; it is one message all the same.
func TestSendSurvivesCrashes(t *testing.T) {
	d := newChatDaemon(t)
	d.heard = func(m wire.ChatSend) {
		d.heard = func(wire.ChatSend) {}
		d.crash() // stored, and the sender does not know
		d.start()
		go func() {
			until(t, "the sender asks again", func() bool { return len(d.requests(wire.SubjectChatSend)) == 2 })
			d.stop()
			d.say(wire.ChatReply, "while you were away", m.ID)
			d.start()
		}()
	}
	got := at(t, d.home).scv("chat", "--send", "hi")
	if got.code != 0 || got.out != "while you were away\n" || len(d.messages()) != 1 {
		t.Errorf("exit %d, stdout %q, stderr %q, messages %q", got.code, got.out, got.errOut, d.messages())
	}
}

// TestSendMissesNoLine: an event was lost, and the next one shows it.
func TestSendMissesNoLine(t *testing.T) {
	d := newChatDaemon(t)
	done := at(t, d.home).background("chat", "--send", "hi")
	until(t, "it listens", func() bool { return len(d.requests(wire.SubjectChatAttach)) > 0 })
	d.say(wire.ChatNotice, "something happened", "")
	d.setMute(true)
	d.say(wire.ChatReply, "lost", "")
	d.setMute(false)
	d.say(wire.ChatReply, "seen", d.sentID(t))
	if got := await(t, done); got.out != "lost\nseen\n" {
		t.Errorf("stdout %q", got.out)
	}
}

// TestSendCatchesUp: every event is lost.
func TestSendCatchesUp(t *testing.T) {
	d := newChatDaemon(t)
	d.setMute(true)
	out := &strings.Builder{}
	done := make(chan error, 1)
	go func() { done <- dispatch(quickApp(t, d.home, "", out), []string{"chat", "--send", "hi"}) }()
	until(t, "it waits", func() bool { return len(d.requests(wire.SubjectChatAttach)) > 1 })
	d.say(wire.ChatReply, "quiet answer", d.sentID(t))
	if err := <-done; err != nil || out.String() != "quiet answer\n" {
		t.Errorf("%v, stdout %q", err, out)
	}
}

// TestPipe: line after line, each answered before the next is sent; a failure is told, and shows in the
// exit code at the end.
func TestPipe(t *testing.T) {
	d := newChatDaemon(t)
	d.heard = func(m wire.ChatSend) {
		if len(d.messages()) == 2 {
			d.say(wire.ChatFailure, "it broke", m.ID)
			return
		}
		d.say(wire.ChatReply, fmt.Sprintf("%d: %s", len(d.messages()), m.Text), m.ID)
	}
	h := at(t, d.home)
	h.stdin = "one\n\n  two  \r\nthree"
	got := h.scv("chat")
	if got.code != 1 || got.out != "1: one\n3: three\n" || got.errOut != "scv: it broke\n" {
		t.Errorf("exit %d, stdout %q, stderr %q", got.code, got.out, got.errOut)
	}
}

func TestPipeLineTooLong(t *testing.T) {
	d := newChatDaemon(t)
	h := at(t, d.home)
	h.stdin = strings.Repeat("x", wire.MaxChatText+10)
	if got := h.scv("chat"); got.code != 1 || !strings.Contains(got.errOut, "cannot read the messages") {
		t.Errorf("exit %d, stderr %q", got.code, got.errOut)
	}
}

// screen collects what a chat shows; the test waits for words on it.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) shows(words string) func() bool {
	return func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return strings.Contains(s.text.String(), words)
	}
}

// TestConverse is a whole conversation at a terminal, with a restart in the middle.
func TestConverse(t *testing.T) {
	d := newChatDaemon(t)
	d.say(wire.ChatReply, "from yesterday", "")
	keys, typed := io.Pipe()
	shown := &screen{}
	a := quickApp(t, d.home, "", shown)
	a.stdin, a.typed, a.pace.catchUp = keys, true, time.Hour // events alone must do
	done := make(chan error, 1)
	go func() { done <- dispatch(a, []string{"chat"}) }()

	until(t, "the open question", shown.shows("? scv confirm 3f: codex-0a1b2c asks\n? «Deploy "+`\u202e`+"now?\n? Really?»\n? Answer yes or no (if several "+
		"questions are open: yes 3f or no 3f). No answer within 30 minutes counts as no.\n"))
	io.WriteString(typed, "hello\n")
	until(t, "the message arrives", func() bool { return len(d.messages()) == 1 })
	d.say(wire.ChatReply, "two\nlines", "x")
	until(t, "the answer", shown.shows("  two\n  lines\n"))
	d.stop()
	io.WriteString(typed, "are you there?\n")
	d.say(wire.ChatNotice, "I was away", "")
	d.start()
	until(t, "the second message arrives", func() bool { return len(d.messages()) == 2 })
	until(t, "what was missed", shown.shows("- I was away\n"))
	d.add(wire.ChatLine{Kind: wire.ChatOwner, Text: "from another terminal", MessageID: ptr("other")})
	d.say(wire.ChatFailure, "it broke", "x")
	until(t, "the rest", shown.shows("> from another terminal\n! it broke\n"))
	d.setMute(true)
	d.say(wire.ChatReply, "a lost event", "")
	d.setMute(false)
	d.say(wire.ChatReply, "the next one", "")
	until(t, "both", shown.shows("  a lost event\n  the next one\n"))
	typed.Close()
	if err := <-done; err != nil {
		t.Errorf("the end of input is no failure: %v", err)
	}
	for _, hidden := range []string{"yesterday", "> hello", "> are you there", "\x1b"} {
		if shown.shows(hidden)() {
			t.Errorf("%q was shown:\n%s", hidden, shown.text.String())
		}
	}
}

// TestConverseEndsOnASignal: nothing hangs although the terminal is still being read.
func TestConverseEndsOnASignal(t *testing.T) {
	d := newChatDaemon(t)
	keys, typed := io.Pipe()
	defer typed.Close()
	shown := &screen{}
	a := quickApp(t, d.home, "", shown)
	a.stdin, a.typed = keys, true
	var interrupt context.CancelFunc
	a.ctx, interrupt = context.WithCancel(a.ctx)
	done := make(chan error, 1)
	go func() { done <- dispatch(a, []string{"chat"}) }()
	until(t, "it is open", shown.shows("? "))
	interrupt()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it hangs")
	}
}
