package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
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
	worked    int // messages that reached an agent
}

type settingModel struct {
	acked  settingValue
	asking []settingValue // sent since the last acknowledgement, each may or may not have happened
}

type settingValue struct {
	gone    bool // logged out
	enabled bool
	tools   wire.RemoteTools
}

// complaints is what a harness found. It is no testing.T, so that a harness can be tested itself: with
// a build that breaks a promise on purpose it must complain.
type complaints struct{ list []string }

func (c *complaints) add(format string, args ...any) {
	c.list = append(c.list, fmt.Sprintf(format, args...))
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
	return fmt.Sprintf("%d acknowledgements: %d messages, %d worked on, %d questions, %d lines",
		m.acks, len(m.messages), m.worked, len(m.questions), len(m.lines))
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
	account := fmt.Sprintf("w%d", worker)
	switch r.IntN(14) {
	case 0, 1:
		return m.set(ctx, c, account, r)
	case 2, 3, 4, 5:
		return m.write(ctx, c, r)
	case 6, 7, 8, 9:
		return m.askAndEnd(ctx, c, r)
	case 10:
		return m.killOne(ctx, c)
	case 11:
		return m.logout(ctx, c, account)
	case 12:
		_, err := c.Control(ctx, wire.ReloadCommand{})
		return err
	default:
		_, err := c.Control(ctx, wire.RestartWhenIdleCommand{})
		if refused(err) {
			return nil
		}
		return err
	}
}

func (m *model) set(ctx context.Context, c *bus.Client, account string, r *rand.Rand) error {
	value := settingValue{enabled: r.IntN(2) == 0, tools: []wire.RemoteTools{wire.ToolsNone, wire.ToolsOwner}[r.IntN(2)]}
	m.asking(account, value)
	_, err := c.Control(ctx, wire.ChannelSetCommand{
		Channel: "local", Account: account, Enabled: value.enabled, RemoteTools: &value.tools,
	})
	return m.acked(account, value, err)
}

func (m *model) logout(ctx context.Context, c *bus.Client, account string) error {
	m.asking(account, settingValue{gone: true})
	_, err := c.Control(ctx, wire.ChannelLogoutCommand{Channel: "local", Account: account})
	if refused(err) {
		return nil // there was no such account
	}
	return m.acked(account, settingValue{gone: true}, err)
}

func (m *model) asking(account string, value settingValue) {
	m.note(func() {
		if m.settings[account] == nil {
			m.settings[account] = &settingModel{acked: settingValue{gone: true}}
		}
		m.settings[account].asking = append(m.settings[account].asking, value)
	})
}

func (m *model) acked(account string, value settingValue, err error) error {
	if err == nil {
		m.note(func() { *m.settings[account] = settingModel{acked: value}; m.acks++ })
	}
	return err
}

// write sends a message, sometimes twice: the same id is the same message.
func (m *model) write(ctx context.Context, c *bus.Client, r *rand.Rand) error {
	id := m.name("m")
	m.note(func() { m.messages[id] = false })
	for range 1 + r.IntN(2) {
		_, err := c.ChatSend(ctx, wire.ChatSend{Account: "default", ID: id, Text: "work on " + id})
		if err != nil {
			return err
		}
		m.note(func() { m.messages[id] = true; m.acks++ })
	}
	return nil
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
	for err == nil && detail.OpenedUnixMillis == nil && !detail.Confirm.State.Final() {
		if _, err = c.Control(ctx, wire.ConfirmStatusCommand{ID: id}); err == nil {
			detail, err = c.ConfirmShow(ctx, id)
		}
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
	r, ok := asRefusal(err)
	return ok && r.Code != wire.Unavailable
}

func asRefusal(err error) (r *wire.Error, ok bool) {
	ok = errors.As(err, &r)
	return r, ok
}

// verify holds a fresh daemon against everything that was acknowledged.
func (d *daemonProcess) verify(t *testing.T, m *model) complaints {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	c, err := d.connect(ctx)
	if err != nil {
		t.Fatalf("%v\n%s", err, d.log())
	}
	defer c.Close()
	m.mu.Lock()
	defer m.mu.Unlock()
	var found complaints
	status, err := c.Control(ctx, wire.StatusCommand{})
	if err != nil {
		t.Fatal(err)
	}
	m.verifySettings(&found, status.Components)
	for id, q := range m.questions {
		detail, err := c.ConfirmShow(ctx, id)
		if err != nil {
			found.add("acknowledged question %s (%s): %v", id, q.text, err)
			continue
		}
		q.verify(&found, detail)
		if detail.Confirm.State != wire.Pending {
			continue
		}
		if _, err := c.ConfirmWithdraw(ctx, id); err != nil { // only eight may be open
			found.add("withdrawing %s: %v", id, err)
		}
		q.expect = wire.Withdrawn
	}
	m.readLines(ctx, t, &found, c)
	return found
}

func (m *model) verifySettings(found *complaints, components []wire.ComponentHealth) {
	now := map[string]settingValue{}
	for _, h := range components {
		now[h.Account] = settingValue{enabled: h.Enabled, tools: h.RemoteTools}
	}
	for account, s := range m.settings {
		value, there := now[account]
		if !there {
			value = settingValue{gone: true}
		}
		if value != s.acked && !slices.Contains(s.asking, value) {
			found.add("account %s is %+v, acknowledged was %+v, asked for since %+v", account, value, s.acked, s.asking)
		}
		*s = settingModel{acked: value}
	}
}

func (q *questionModel) verify(found *complaints, d wire.ConfirmDetail) {
	state := d.Confirm.State
	switch {
	case d.Question != q.text:
		found.add("question %q became %q", q.text, d.Question)
	case q.final != "" && state != q.final:
		found.add("question %q was %s and is %s", q.text, q.final, state)
	case q.expect != "" && state != q.expect:
		found.add("question %q is %s, acknowledged was %s", q.text, state, q.expect)
	case state == wire.Yes && d.Receipt == nil:
		found.add("question %q has a yes without a receipt", q.text)
	}
	if state.Final() {
		q.final = state
	}
}

// readLines collects the chat; a line once shown never changes.
func (m *model) readLines(ctx context.Context, t *testing.T, found *complaints, c *bus.Client) {
	after := m.newest - min(m.newest, 20)
	attached, err := c.ChatAttach(ctx, wire.ChatAttach{Account: "default", AfterSeq: &after})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range attached.Lines {
		if old, known := m.lines[line.Seq]; known && old.Text != line.Text {
			found.add("line %d was %q and is %q", line.Seq, old.Text, line.Text)
		}
		m.lines[line.Seq] = line
		m.newest = max(m.newest, line.Seq)
	}
}

// awaitAnswers waits until every acknowledged message has its one answer.
func (m *model) awaitAnswers(t *testing.T, d *daemonProcess) complaints {
	t.Helper()
	c, err := d.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		var found complaints
		m.mu.Lock()
		m.readLines(t.Context(), t, &found, c)
		missing := m.unanswered(&found)
		m.mu.Unlock()
		if len(missing) == 0 || len(found.list) > 0 {
			return found
		}
		if time.Now().After(deadline) {
			found.add("%d acknowledged messages have no answer: %v", len(missing), missing)
			return found
		}
	}
}

// unanswered also finds what was answered twice.
func (m *model) unanswered(found *complaints) (missing []string) {
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
			found.add("acknowledged message %s is not in the chat", id)
		case answers[id] > 1:
			found.add("message %s has %d answers", id, answers[id])
		case answers[id] == 0 && owner[id]:
			missing = append(missing, id)
		}
	}
	return missing
}

// executions finds messages that were worked on twice. The agent writes down each.
func (m *model) executions(t *testing.T) (found complaints) {
	t.Helper()
	f, err := os.Open(filepath.Join(m.home, "workspace", "executed"))
	if errors.Is(err, fs.ErrNotExist) {
		return found
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	times := map[string]int{}
	for s := bufio.NewScanner(f); s.Scan(); {
		times[s.Text()]++
		if times[s.Text()] == 2 {
			found.add("%q was worked on twice", s.Text())
		}
	}
	m.note(func() { m.worked = len(times) })
	return found
}
