package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"scv/daemon/caller"
	"scv/internal/clock"
	"scv/store"
	"scv/wire"
	"scv/wire/bus"
)

// messenger is a chat platform as the people who use it see it.
type messenger interface {
	id() string     // of the daemon's account there
	owner() string  // whose account it is, by the platform's id
	bot() string    // the platform's id of the account itself
	can() abilities // what the platform knows of
	config() string // what config.toml says of it
	signIn(home string) error
	say(t *testing.T, k *talk, l line) (id string)
	taken(id string) bool // the platform may believe that the message was taken
	heard(t *testing.T, k *talk) []heard

	skew(by time.Duration) // of the platform's clock
	refuse()               // the next message that nobody asked for
	end()                  // what the account signed in with is not good any more
	renew()                // it was signed in again: signIn saves something that is good
	asked() int            // requests of the account so far
}

// abilities are what tells platforms apart that keep the same rules.
type abilities struct {
	others   bool // there are people besides the owner, and groups
	mentions bool // who writes in a group can mean the account
	quotes   bool // a message can answer another one
	past     bool // a message has its time from the platform
	sessions bool // what an account signs in with can end
}

// line is a message of somebody.
type line struct {
	text            string
	stranger, group bool
	mention         bool
	quotes          string        // the message that it answers
	at              time.Duration // from now, by the platform's clock
}

// heard is a message of the account that people see.
type heard struct {
	id, replyTo, text string
	stranger, group   bool // where; neither is the owner's direct chat
}

// talk is a daemon with an account on a platform, and with an agent that says what it hears and whether it has tools.
type talk struct {
	*started
	m    messenger
	home string
	hold string // while this file is there, the agent works
	clk  *clock.Virtual
	c    *bus.Client
}

const agentOfTalks = `#!/bin/sh
how=tools
for a; do [ "$a" = --strict-mcp-config ] && how=none; done
text=$(tr '\n"' '  ')
while [ -e '%s' ]; do sleep 0.02; done
printf '{"type":"result","subtype":"success","session_id":"s","result":"%%s: %%s"}\n' $how "$text"
`

// newTalk begins one, with more lines of config.toml where a test needs them.
func newTalk(t *testing.T, m messenger, more ...string) *talk {
	t.Helper()
	k := &talk{m: m, clk: clock.NewVirtual(), hold: filepath.Join(t.TempDir(), "hold")}
	agent := filepath.Join(t.TempDir(), "agent")
	must(t, os.WriteFile(agent, fmt.Appendf(nil, agentOfTalks, k.hold), 0o700))
	k.home = newHome(t, fmt.Sprintf(`
[agents.fake]
driver = "claude"
command = [%q]
[timing]
reconcile = "20ms"
backoff_min = "10ms"
backoff_max = "50ms"
%s
%s`, agent, m.config(), strings.Join(more, "\n")))
	must(t, m.signIn(k.home))
	k.begin(t)
	t.Cleanup(k.finish)
	return k
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// begin starts the daemon and waits for the platform.
func (k *talk) begin(t *testing.T) {
	t.Helper()
	k.start(t)
	k.becomes(t, wire.Connected, "")
}

func (k *talk) start(t *testing.T) {
	t.Helper()
	k.started = startInProcess(t, k.home, k.clk)
	k.c = k.client(caller.Verdict{})
}

func (k *talk) finish() {
	if k.started != nil {
		k.c.Close()
		k.stop()
		k.started = nil
	}
}

func (k *talk) again(t *testing.T) {
	t.Helper()
	k.finish()
	k.begin(t)
}

func (k *talk) health(t *testing.T) (h wire.ComponentHealth, found bool) {
	t.Helper()
	all := k.accounts.Health()
	i := slices.IndexFunc(all, func(h wire.ComponentHealth) bool { return h.ID == k.m.id() })
	if i < 0 {
		return h, false
	}
	return all[i], true
}

// becomes waits until the account is in a state, with words in its error.
func (k *talk) becomes(t *testing.T, state wire.ComponentState, words string) wire.ComponentHealth {
	t.Helper()
	var h wire.ComponentHealth
	await(t, "the account is "+string(state)+" "+words, func() bool {
		h, _ = k.health(t)
		return h.State == state && strings.Contains(text(h.Error), words)
	}, func() string { return fmt.Sprintf("%s, %q", h.State, text(h.Error)) })
	return h
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func await(t *testing.T, what string, ok func() bool, now func() string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s: %s", what, now())
		}
	}
}

// set changes what the owner may do and who is answered, and begins the daemon anew: what has contact then does so
// by these settings.
func (k *talk) set(t *testing.T, tools wire.RemoteTools, senders wire.Senders) {
	t.Helper()
	channel, account, _ := strings.Cut(k.m.id(), ":")
	change := wire.AccountSet{Channel: channel, Account: account, RemoteTools: &tools}
	if k.m.can().others {
		change.Senders = &senders
	}
	_, err := k.c.AccountSet(t.Context(), change)
	must(t, err)
	k.again(t)
	k.settled(t)
}

// says has somebody write, and waits until that is taken.
func (k *talk) says(t *testing.T, l line) (id string) {
	t.Helper()
	id = k.m.say(t, k, l)
	await(t, "it is taken: "+l.text, func() bool { return k.m.taken(id) }, func() string { return "" })
	return id
}

// sees waits until the owner sees words in their direct chat.
func (k *talk) sees(t *testing.T, words string) (found heard) {
	t.Helper()
	await(t, "a message with "+words, func() bool {
		for _, found = range k.m.heard(t, k) {
			if strings.Contains(found.text, words) && !found.stranger && !found.group {
				return true
			}
		}
		return false
	}, func() string { return fmt.Sprintf("%+v", k.m.heard(t, k)) })
	return found
}

// with are the messages with these words, whoever sees them.
func (k *talk) with(t *testing.T, words string) []heard {
	t.Helper()
	return slices.DeleteFunc(k.m.heard(t, k), func(h heard) bool { return !strings.Contains(h.text, words) })
}

// settled waits until nothing is claimed, and nothing waits to be sent.
func (k *talk) settled(t *testing.T) {
	t.Helper()
	await(t, "everything is answered", func() (settled bool) {
		must(t, k.store.View(func(v *store.View) error {
			settled = len(v.AllClaims()) == 0 && len(v.OutboxAccounts()) == 0
			return nil
		}))
		return settled
	}, func() string { return "it is not" })
}

// localChatHas reports whether the chat of this machine has a line with these words.
func (s *started) localChatHas(t *testing.T, words string) (found bool) {
	t.Helper()
	must(t, s.store.View(func(v *store.View) error {
		found = slices.ContainsFunc(v.ChatLines(defaultLocal, 0, 1000), func(row store.ChatLineRow) bool {
			return strings.Contains(row.ChatLine.Text, words)
		})
		return nil
	}))
	return found
}

func (s *started) confirm(t *testing.T, id string) (c store.Confirm) {
	t.Helper()
	must(t, s.store.View(func(v *store.View) error {
		c, _ = v.Confirm(id)
		return nil
	}))
	return c
}
