package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
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
	asked     map[string]bool // texts of questions
	messages  map[string]bool // id → acknowledged
	lines     map[uint64]wire.ChatLine
	newest    uint64
	unread    int // lines that may have come since
	replies   int
	awaited   int           // number of the reply
	arrived   chan struct{} // at which this is closed
	actions   map[string]int
	worked    int // messages that reached an agent
	counted   map[*bus.Client]counters
	backwards []string // counters that a client has seen fall
}

// counters are what a daemon counts for as long as it lives.
type counters struct{ reaped, restarts uint64 }

// count looks at what one client is told, in its order: no counter goes backwards while a daemon lives. The caller
// holds the model.
func (m *model) count(c *bus.Client, status wire.DaemonStatus) {
	now := counters{reaped: status.Delegations.Reaped}
	for _, h := range status.Components {
		if h.Account == "default" { // it is never logged out
			now.restarts = h.Restarts
		}
	}
	if was := m.counted[c]; now.reaped < was.reaped || now.restarts < was.restarts {
		m.backwards = append(m.backwards, fmt.Sprintf("counters went from %+v to %+v", was, now))
	}
	m.counted[c] = now
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

type questionModel struct {
	text   string
	final  wire.ConfirmState // as once seen, "" before
	expect wire.ConfirmState // an acknowledged answer or withdrawal leads to it, "" otherwise
}

func newModel(home string) *model {
	return &model{
		home: home, settings: map[string]*settingModel{}, questions: map[string]*questionModel{},
		messages: map[string]bool{}, lines: map[uint64]wire.ChatLine{},
		asked: map[string]bool{}, actions: map[string]int{}, counted: map[*bus.Client]counters{},
	}
}

// replied is closed at the n-th reply from now.
func (m *model) replied(n int) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.awaited, m.arrived = m.replies+n, make(chan struct{})
	if n == 0 {
		close(m.arrived)
	}
	return m.arrived
}

// reply counts a reply and notes what it says.
func (m *model) reply(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
	if m.replies++; m.replies == m.awaited {
		close(m.arrived)
	}
}

// control asks for an action. A refusal is a reply too.
func (m *model) control(ctx context.Context, c *bus.Client, command wire.Command) (wire.DaemonStatus, error) {
	status, err := c.Control(ctx, command)
	if err == nil || refused(err) {
		m.reply(func() {
			m.actions[command.Action()]++
			if err == nil {
				m.count(c, status)
			}
		})
	}
	return status, err
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
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	time.Sleep(time.Duration(r.IntN(10)) * time.Millisecond)
	account := fmt.Sprintf("w%d", worker)
	what := r.IntN(15)
	if what >= 2 && what <= 9 && !m.room() {
		what = 14
	}
	switch what {
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
	}
	other := []wire.Command{wire.StatusCommand{}, wire.ReloadCommand{}, wire.RestartWhenIdleCommand{}}
	_, err := m.control(ctx, c, other[r.IntN(3)])
	if refused(err) {
		return nil // to restart: not again so soon
	}
	return err
}

// room reports whether there may be more lines in the chat before they are read: it shows the newest 200, and a
// message or a question makes up to four.
func (m *model) room() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unread += 4
	return m.unread <= wire.MaxChatBacklog-20
}

func (m *model) set(ctx context.Context, c *bus.Client, account string, r *rand.Rand) error {
	value := settingValue{enabled: r.IntN(2) == 0, tools: []wire.RemoteTools{wire.ToolsNone, wire.ToolsOwner}[r.IntN(2)]}
	m.asking(account, value)
	_, err := m.control(ctx, c, wire.ChannelSetCommand{
		Channel: "local", Account: account, Enabled: value.enabled, RemoteTools: &value.tools,
	})
	return m.acked(account, value, err)
}

func (m *model) logout(ctx context.Context, c *bus.Client, account string) error {
	m.asking(account, settingValue{gone: true})
	_, err := m.control(ctx, c, wire.ChannelLogoutCommand{Channel: "local", Account: account})
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
		m.note(func() { *m.settings[account] = settingModel{acked: value} })
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
		m.reply(func() { m.messages[id] = true })
	}
	return nil
}

// askAndEnd asks, waits until the question is open, and answers or withdraws it.
func (m *model) askAndEnd(ctx context.Context, c *bus.Client, r *rand.Rand) error {
	text := m.name("Deploy")
	m.note(func() { m.asked[text] = true })
	status, err := m.control(ctx, c, wire.ConfirmAskCommand{Question: text})
	if refused(err) {
		return nil // the account is not connected yet
	}
	if err != nil {
		return err
	}
	id := status.Confirm.ID
	q := &questionModel{text: text}
	m.note(func() { m.questions[id] = q })
	for {
		if _, err := m.control(ctx, c, wire.ConfirmStatusCommand{ID: id}); err != nil {
			return err
		}
		detail, err := c.ConfirmShow(ctx, id)
		if err != nil {
			return err
		}
		if detail.OpenedUnixMillis != nil || detail.Confirm.State.Final() {
			return m.end(ctx, c, r, id, detail.Code, q)
		}
	}
}

func (m *model) end(ctx context.Context, c *bus.Client, r *rand.Rand, id, code string, q *questionModel) error {
	word, state := "yes", wire.Yes
	switch r.IntN(3) {
	case 0:
		word, state = "no", wire.No
	case 1:
		_, err := c.ConfirmWithdraw(ctx, id)
		if err == nil {
			m.reply(func() { q.expect = wire.Withdrawn })
		}
		return err
	}
	_, err := c.ChatSend(ctx, wire.ChatSend{Account: "default", ID: m.name("a"), Text: word + " " + code})
	if err == nil {
		m.reply(func() { q.expect = state })
	}
	return err
}

// killOne stops whatever runs first, or else all orphans; that it is gone already is no fault.
func (m *model) killOne(ctx context.Context, c *bus.Client) error {
	status, err := m.control(ctx, c, wire.DelegationsCommand{All: true})
	if err != nil {
		return err
	}
	kill := wire.DelegationKillCommand{Orphans: true}
	if entries := status.Delegations.Entries; len(entries) > 0 {
		kill = wire.DelegationKillCommand{Handle: &entries[0].Handle}
	}
	_, err = m.control(ctx, c, kill)
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
