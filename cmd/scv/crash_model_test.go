package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"scv/wire"
	"scv/wire/bus"
)

// model is what the clients know: every acknowledged fact, and what was asked for and not answered.
type model struct {
	home string

	mu        sync.Mutex
	next      int
	settings  map[string]*settingModel
	questions map[string]*questionModel
	messages  map[string]bool // id → acknowledged
	lines     map[uint64]wire.ChatLine
	newest    uint64
	acks      int
}

type settingModel struct {
	known  bool
	acked  settingValue
	asking []settingValue // sent since the last acknowledgement, each may or may not have happened
}

type settingValue struct {
	enabled bool
	tools   wire.RemoteTools
}

type questionModel struct {
	text   string
	final  wire.ConfirmState // as once seen, "" before
	expect wire.ConfirmState // an acknowledged answer or withdrawal leads to it, "" otherwise
}

func newModel(home string) *model {
	return &model{
		home: home, settings: map[string]*settingModel{}, questions: map[string]*questionModel{},
		messages: map[string]bool{}, lines: map[uint64]wire.ChatLine{},
	}
}

func (m *model) summary() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return fmt.Sprintf("%d acknowledgements: %d messages, %d questions, %d lines",
		m.acks, len(m.messages), len(m.questions), len(m.lines))
}

func (m *model) acknowledged() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.acks
}

func (m *model) name(prefix string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next++
	return fmt.Sprintf("%s-%d-%d", prefix, os.Getpid(), m.next)
}

func (m *model) note(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

// act is one random step of a client. An error ends the client.
func (m *model) act(ctx context.Context, c *bus.Client, worker int, r *rand.Rand) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	time.Sleep(time.Duration(r.IntN(10)) * time.Millisecond) // the chat shows 200 lines at once, no more
	switch r.IntN(10) {
	case 0, 1:
		return m.set(ctx, c, fmt.Sprintf("w%d", worker), r)
	case 2, 3, 4:
		return m.write(ctx, c)
	case 5, 6, 7:
		return m.askAndEnd(ctx, c, r)
	case 8:
		_, err := c.Control(ctx, wire.DelegationsCommand{All: true})
		return err
	default:
		return m.killOne(ctx, c)
	}
}

func (m *model) set(ctx context.Context, c *bus.Client, account string, r *rand.Rand) error {
	value := settingValue{r.IntN(2) == 0, []wire.RemoteTools{wire.ToolsNone, wire.ToolsOwner}[r.IntN(2)]}
	m.note(func() {
		if m.settings[account] == nil {
			m.settings[account] = &settingModel{}
		}
		m.settings[account].asking = append(m.settings[account].asking, value)
	})
	_, err := c.Control(ctx, wire.ChannelSetCommand{
		Channel: "local", Account: account, Enabled: value.enabled, RemoteTools: &value.tools,
	})
	if err == nil {
		m.note(func() { *m.settings[account] = settingModel{known: true, acked: value}; m.acks++ })
	}
	return err
}

func (m *model) write(ctx context.Context, c *bus.Client) error {
	id := m.name("m")
	m.note(func() { m.messages[id] = false })
	_, err := c.ChatSend(ctx, wire.ChatSend{Account: "default", ID: id, Text: "work on " + id})
	if err == nil {
		m.note(func() { m.messages[id] = true; m.acks++ })
	}
	return err
}

// askAndEnd asks, waits until the question is open, and answers or withdraws it.
func (m *model) askAndEnd(ctx context.Context, c *bus.Client, r *rand.Rand) error {
	text := m.name("Deploy")
	status, err := c.Control(ctx, wire.ConfirmAskCommand{Question: text})
	if refused(err) {
		return nil // eight wait already, of workers that were killed
	}
	if err != nil {
		return err
	}
	id := status.Confirm.ID
	q := &questionModel{text: text}
	m.note(func() { m.questions[id] = q; m.acks++ })
	detail, err := c.ConfirmShow(ctx, id)
	for err == nil && detail.OpenedUnixMillis == nil {
		time.Sleep(time.Millisecond)
		detail, err = c.ConfirmShow(ctx, id)
	}
	if err != nil {
		return err
	}
	return m.end(ctx, c, r, id, detail.Code, q)
}

func (m *model) end(ctx context.Context, c *bus.Client, r *rand.Rand, id, code string, q *questionModel) error {
	word, state := "yes", wire.Yes
	switch r.IntN(3) {
	case 0:
		word, state = "no", wire.No
	case 1:
		_, err := c.ConfirmWithdraw(ctx, id)
		if err == nil {
			m.note(func() { q.expect = wire.Withdrawn; m.acks++ })
		}
		return err
	}
	_, err := c.ChatSend(ctx, wire.ChatSend{Account: "default", ID: m.name("a"), Text: word + " " + code})
	if err == nil {
		m.note(func() { q.expect = state; m.acks++ })
	}
	return err
}

// killOne stops whatever runs first; that it is gone already is no fault.
func (m *model) killOne(ctx context.Context, c *bus.Client) error {
	status, err := c.Control(ctx, wire.DelegationsCommand{All: true})
	if err != nil || len(status.Delegations.Entries) == 0 {
		return err
	}
	_, err = c.Control(ctx, wire.DelegationKillCommand{Handle: &status.Delegations.Entries[0].Handle})
	if refused(err) {
		return nil
	}
	return err
}

func refused(err error) bool {
	var r *wire.Error
	return errors.As(err, &r)
}

// verify holds a fresh daemon against everything that was acknowledged.
func (d *daemonProcess) verify(t *testing.T, m *model) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	c, err := d.connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	m.mu.Lock()
	defer m.mu.Unlock()
	status, err := c.Control(ctx, wire.StatusCommand{})
	if err != nil {
		t.Fatal(err)
	}
	m.verifySettings(t, status.Components)
	for id, q := range m.questions {
		detail, err := c.ConfirmShow(ctx, id)
		if err != nil {
			t.Fatalf("acknowledged question %s (%s): %v", id, q.text, err)
		}
		q.verify(t, detail)
	}
	m.readLines(ctx, t, c)
	if t.Failed() {
		t.Fatalf("%s", d.log())
	}
}

func (m *model) verifySettings(t *testing.T, components []wire.ComponentHealth) {
	found := map[string]settingValue{}
	for _, h := range components {
		found[h.Account] = settingValue{h.Enabled, h.RemoteTools}
	}
	for account, s := range m.settings {
		value, there := found[account]
		good := there && s.known && value == s.acked || !there && !s.known
		for _, asked := range s.asking {
			good = good || there && value == asked
		}
		if !good {
			t.Errorf("account %s is %+v (there %v), acknowledged was %+v, asked for %+v", account, value, there, s.acked, s.asking)
		}
		if there {
			*s = settingModel{known: true, acked: value}
		} else {
			*s = settingModel{}
		}
	}
}

func (q *questionModel) verify(t *testing.T, d wire.ConfirmDetail) {
	state := d.Confirm.State
	switch {
	case d.Question != q.text:
		t.Errorf("question %q became %q", q.text, d.Question)
	case q.final != "" && state != q.final:
		t.Errorf("question %q was %s and is %s", q.text, q.final, state)
	case q.expect != "" && state != q.expect:
		t.Errorf("question %q is %s, acknowledged was %s", q.text, state, q.expect)
	case state == wire.Yes && d.Receipt == nil:
		t.Errorf("question %q has a yes without a receipt", q.text)
	}
	if state.Final() {
		q.final = state
	}
}

// readLines collects the chat; a line once shown never changes.
func (m *model) readLines(ctx context.Context, t *testing.T, c *bus.Client) {
	after := m.newest - min(m.newest, 20)
	attached, err := c.ChatAttach(ctx, wire.ChatAttach{Account: "default", AfterSeq: &after})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range attached.Lines {
		if old, known := m.lines[line.Seq]; known && old.Text != line.Text {
			t.Errorf("line %d was %q and is %q", line.Seq, old.Text, line.Text)
		}
		m.lines[line.Seq] = line
		m.newest = max(m.newest, line.Seq)
	}
}

// awaitAnswers waits until every acknowledged message has its one answer.
func (m *model) awaitAnswers(t *testing.T, d *daemonProcess) {
	t.Helper()
	c, err := d.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		m.mu.Lock()
		m.readLines(t.Context(), t, c)
		missing := m.unanswered(t)
		m.mu.Unlock()
		if len(missing) == 0 || t.Failed() {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d acknowledged messages have no answer: %v\n%s", len(missing), missing, d.log())
		}
	}
}

// unanswered also finds what was answered twice.
func (m *model) unanswered(t *testing.T) (missing []string) {
	answers := map[string]int{}
	owner := map[string]bool{}
	for _, line := range m.lines {
		if line.InReplyTo != nil {
			answers[*line.InReplyTo]++
		}
		if line.MessageID != nil {
			owner[*line.MessageID] = true
		}
	}
	for id, acked := range m.messages {
		switch {
		case acked && !owner[id]:
			t.Errorf("acknowledged message %s is not in the chat", id)
		case answers[id] > 1:
			t.Errorf("message %s has %d answers", id, answers[id])
		case answers[id] == 0 && owner[id]:
			missing = append(missing, id)
		}
	}
	return missing
}

// checkExecutions proves that no message was worked on twice.
func (m *model) checkExecutions(t *testing.T) {
	t.Helper()
	f, err := os.Open(filepath.Join(m.home, "workspace", "executed"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	times := map[string]int{}
	for s := bufio.NewScanner(f); s.Scan(); {
		times[s.Text()]++
		if times[s.Text()] > 1 {
			t.Errorf("%q was worked on %d times", s.Text(), times[s.Text()])
		}
	}
	if len(times) == 0 {
		t.Error("no agent ever ran")
	}
}
