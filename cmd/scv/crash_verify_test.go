package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"scv/wire"
	"scv/wire/bus"
)

// complaints is what a harness found. It is no testing.T, so that a harness can be tested itself: with
// a build that breaks a promise on purpose it must complain.
type complaints struct{ list []string }

func (c *complaints) add(format string, args ...any) {
	c.list = append(c.list, fmt.Sprintf(format, args...))
}

// verify holds a fresh daemon against everything that was acknowledged. Questions that were seen to have
// ended are looked at again only if all is asked for.
func (d *daemonProcess) verify(t *testing.T, m *model, all bool) complaints {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	c, err := d.served(t)
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
		if q.final != "" && !all {
			continue
		}
		detail, err := c.ConfirmShow(ctx, id)
		if err != nil {
			found.add("acknowledged question %s (%s): %v", id, q.text, err)
			continue
		}
		q.verify(&found, detail)
	}
	m.withdrawOpen(ctx, t, &found, c)
	m.readLines(ctx, t, &found, c)
	m.unanswered(&found)
	m.executions(t, &found)
	found.list = append(found.list, m.backwards...)
	clear(m.counted) // those clients' daemon is gone
	return found
}

// withdrawOpen makes room: only eight may be open, and nobody waits for those of killed clients. One
// that was never acknowledged is known by nothing but its being there, and then it is there as a whole.
func (m *model) withdrawOpen(ctx context.Context, t *testing.T, found *complaints, c *bus.Client) {
	open, err := c.ConfirmList(ctx, wire.ConfirmListRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, detail := range open.Confirms {
		id, text := detail.Confirm.ID, detail.Question
		q := m.questions[id]
		if q == nil {
			q = &questionModel{text: text}
			m.questions[id] = q
			if !m.asked[text] {
				found.add("question %q was never asked so", text)
			}
		}
		if _, err := c.ConfirmWithdraw(ctx, id); err != nil {
			found.add("withdrawing %s: %v", id, err)
			continue
		}
		q.expect = wire.Withdrawn
	}
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

// readLines collects the chat; a line once shown never changes. The caller holds the model.
func (m *model) readLines(ctx context.Context, t *testing.T, found *complaints, c *bus.Client) {
	after := m.newest - min(m.newest, 20)
	attached, err := c.ChatAttach(ctx, wire.ChatAttach{Account: "default", AfterSeq: &after})
	if refused(err) { // what the start made is not there
		found.add("the chat: %v", err)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	m.unread = 0
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
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		var found complaints
		m.mu.Lock()
		m.readLines(t.Context(), t, &found, c)
		missing := m.unanswered(&found)
		m.executions(t, &found)
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

// unanswered also finds what was taken or answered twice.
func (m *model) unanswered(found *complaints) (missing []string) {
	answers := map[string]int{}
	owner := map[string]int{}
	for _, line := range m.lines {
		if line.InReplyTo != nil {
			answers[*line.InReplyTo]++
		}
		if line.MessageID != nil {
			id := *line.MessageID
			owner[id]++
			if _, sent := m.messages[id]; sent && line.Text != "work on "+id {
				found.add("message %s became %q", id, line.Text)
			}
		}
	}
	for id, acked := range m.messages {
		switch {
		case acked && owner[id] == 0:
			found.add("acknowledged message %s is not in the chat", id)
		case owner[id] > 1:
			found.add("message %s is %d times in the chat", id, owner[id])
		case answers[id] > 1:
			found.add("message %s has %d answers", id, answers[id])
		case answers[id] == 0 && owner[id] > 0:
			missing = append(missing, id)
		}
	}
	return missing
}

// executions finds messages that were worked on twice. The agent writes down each.
func (m *model) executions(t *testing.T, found *complaints) {
	t.Helper()
	f, err := os.Open(filepath.Join(m.home, "workspace", "executed"))
	if errors.Is(err, fs.ErrNotExist) {
		return
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
	m.worked = len(times)
}

// crashTally adds up what happened in many homes.
type crashTally struct {
	mu                                          sync.Mutex
	homes, replies, messages, worked, questions int
	actions                                     map[string]int
}

func (a *crashTally) add(m *model) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.homes++
	a.replies += m.replies
	a.messages += len(m.messages)
	a.worked += m.worked
	a.questions += len(m.questions)
	if a.actions == nil {
		a.actions = map[string]int{}
	}
	for action, n := range m.actions {
		a.actions[action] += n
	}
}

func (a *crashTally) String() string {
	return fmt.Sprintf("%d homes, %d replies: %d messages, %d worked on, %d questions, actions %v",
		a.homes, a.replies, a.messages, a.worked, a.questions, a.actions)
}
