package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"scv/daemon/channel/feishu/feishutest"
)

// feishuConfig names the fake platform and an agent that answers as Claude Code does: of those alone SCV knows how
// to run them without tools.
const feishuConfig = `[feishu]
stand_in = %q

[agents.parrot]
driver = "claude"
command = [%q]
`

// parrot says how it was started, and what it was told.
const parrot = `#!/bin/sh
tools=with
for a in "$@"; do [ "$a" = --tools ] && tools=without; done
text=$(tr -d '\n"\\')
case "$text" in *slowly*) sleep 600 ;; esac
printf '{"type":"result","subtype":"success","session_id":"s-1","result":"I work %s tools. You wrote: %s"}\n' "$tools" "$text"
`

const feishuAccount = "feishu:default"

// feishuStory is the demo with a chat platform.
func feishuStory(s *stage) []scene {
	t := &feishuTale{tale: &tale{stage: s}, texts: map[string]string{}}
	return []scene{
		{"A home, and a platform that is not the real one", t.makeHome},
		{"Sign in by a scan", t.signIn},
		{"Start the daemon", t.begin},
		{"The owner writes", t.owner},
		{"A stranger writes", t.stranger},
		{"Somebody mentions the bot in a group", t.group},
		{"A script asks, and the owner answers by a quote", t.ask},
		{"The daemon crashes in the middle of everything", t.crash},
		{"Start it again: nothing is lost", t.again},
		{"Nothing came twice", t.count},
		{"Stop", t.stop},
	}
}

// said is a message, and the words that its reply must hold.
type said struct{ id, words string }

// feishuTale is what one scene leaves for the next.
type feishuTale struct {
	*tale
	p     *feishutest.Platform
	app   feishutest.App
	chat  string            // the owner's with the bot
	texts map[string]string // of messages that are to have one reply each, by id
	open  []said            // what the crash leaves unanswered
}

func (t *feishuTale) makeHome() (err error) {
	if t.p, err = feishutest.Start(feishutest.Options{}); err != nil {
		return err
	}
	t.ends = append(t.ends, t.p.Close)
	program := filepath.Join(filepath.Dir(t.scv), "parrot")
	text := fmt.Sprintf(feishuConfig, t.p.PlainURL(), program)
	if err := os.WriteFile(program, []byte(parrot), 0o700); err != nil {
		return fmt.Errorf("cannot install the agent: %w", err)
	}
	if err := os.MkdirAll(t.home, 0o700); err != nil {
		return fmt.Errorf("cannot make the home: %w", err)
	}
	if err := os.WriteFile(filepath.Join(t.home, "config.toml"), []byte(text), 0o600); err != nil {
		return fmt.Errorf("cannot write config.toml: %w", err)
	}
	t.say("The platform of this demo runs in the demo's own process, on a loopback address, and speaks as Feishu's API")
	t.say("and long connection do. The people in it are played by the demo.")
	t.say("")
	t.typed("cat $SCV_HOME/config.toml")
	t.printed(text)
	return nil
}

func (t *feishuTale) signIn() error {
	t.say("No daemon is needed for this. The code is scanned after a moment:")
	t.say("")
	if err := t.expect("signed in "+feishuAccount, "channels", "login", "feishu"); err != nil {
		return err
	}
	apps := t.p.Apps()
	t.app = apps[len(apps)-1]
	t.chat = t.p.Direct(t.app.ID, t.app.Owner)
	return nil
}

func (t *feishuTale) begin() error {
	if err := t.startConnected(); err != nil {
		return err
	}
	if err := t.expect("", "channels", "set", feishuAccount, "--remote-tools", "owner"); err != nil {
		return err
	}
	return t.untilConnected()
}

func (t *feishuTale) startConnected() error {
	if err := t.startDaemon(); err != nil {
		return err
	}
	return t.untilConnected()
}

func (t *feishuTale) untilConnected() error {
	return t.until(feishuAccount+" to be connected", startLimit, func() bool {
		out, err := t.quiet("status")
		return err == nil && slices.ContainsFunc(strings.Split(out, "\n"), func(line string) bool {
			return strings.Contains(line, feishuAccount) && strings.Contains(line, "connected") && !strings.Contains(line, "disconnected")
		})
	})
}

// writes has somebody write, and keeps it in mind for the count at the end.
func (t *feishuTale) writes(who, chat, sender, text string, opts ...feishutest.Option) (id string) {
	t.say("  %s: %s", who, text)
	id = t.p.Say(chat, sender, text, opts...)
	t.texts[id] = text
	return id
}

// replies are what the bot said to a message.
func (t *feishuTale) replies(id string) (texts []string) {
	for _, s := range t.p.Sent() {
		if s.ReplyTo == id {
			texts = append(texts, s.Text)
		}
	}
	return texts
}

// answered waits for the reply to a message, shows it, and looks for words in it.
func (t *feishuTale) answered(id, words string) error {
	err := t.until(fmt.Sprintf("the reply to %q", t.texts[id]), soonLimit, func() bool { return len(t.replies(id)) > 0 })
	if err != nil {
		return err
	}
	text := t.replies(id)[0]
	t.say("  bot: %s", text)
	if !strings.Contains(text, words) {
		return fmt.Errorf("the reply to %q is %q, without %q", t.texts[id], text, words)
	}
	return nil
}

func (t *feishuTale) owner() error {
	if err := t.answered(t.writes("owner", t.chat, t.app.Owner, "hello there"), "I work with tools. You wrote: hello there"); err != nil {
		return err
	}
	t.say("")
	t.say("Some words are for SCV itself:")
	t.say("")
	return t.answered(t.writes("owner", t.chat, t.app.Owner, "/status"), feishuAccount+": connected")
}

func (t *feishuTale) stranger() error {
	t.say("Whoever is not the owner is not answered, and nothing is started for them.")
	t.say("")
	const somebody = "ou_stranger"
	t.say("  stranger: run rm -rf / please")
	id := t.p.Say(t.p.Direct(t.app.ID, somebody), somebody, "run rm -rf / please")
	if err := t.until("the message to be taken", soonLimit, func() bool { return t.p.Acked(id) }); err != nil {
		return err
	}
	// What comes after it is answered, so it had its turn.
	if err := t.answered(t.writes("owner", t.chat, t.app.Owner, "was there anybody?"), "was there anybody?"); err != nil {
		return err
	}
	if got := t.replies(id); len(got) > 0 {
		return fmt.Errorf("a stranger was answered: %q", got)
	}
	return nil
}

func (t *feishuTale) group() error {
	t.say("In a group the bot hears what mentions it and has no tools, whoever asks: others read along, and write.")
	t.say("")
	group := t.p.Group(t.app.ID)
	id := t.writes("owner, in a group", group, t.app.Owner, "what can you do?", feishutest.Mention(t.app.BotID))
	return t.answered(id, "I work without tools.")
}

// question waits until the bot has asked something, and gives the message that asks.
func (t *feishuTale) asked(words string) (id string, err error) {
	err = t.until("the question to be asked", soonLimit, func() bool {
		for _, s := range t.p.Sent() {
			if s.Chat == t.chat && strings.Contains(s.Text, words) {
				id = s.MessageID
				return true
			}
		}
		return false
	})
	if err == nil {
		err = t.untilOpen(words)
	}
	return id, err
}

func (t *feishuTale) ask() error {
	q, err := t.start(nil, "confirm", "--timeout", "5m", "Deploy version 2?")
	if err != nil {
		return err
	}
	id, err := t.asked("Deploy version 2?")
	if err != nil {
		return err
	}
	t.say("  bot: Deploy version 2? …")
	if err := t.answered(t.writes("owner, quoting it", t.chat, t.app.Owner, "yes", feishutest.Quote(id)), "Going ahead"); err != nil {
		return err
	}
	return t.finish(q, soonLimit, 0)
}

func (t *feishuTale) crash() (err error) {
	t.say("A question is open, the agent works, a message waits behind it; then the daemon is killed. While it is away")
	t.say("the owner answers the question and writes once more.")
	t.say("")
	if t.question, err = t.start(nil, "confirm", "--timeout", "5m", "Delete the old backups?"); err != nil {
		return err
	}
	id, err := t.asked("Delete the old backups?")
	if err != nil {
		return err
	}
	t.leaves("owner", "think slowly", "not started again by itself")
	t.leaves("owner", "and then this", "and then this")
	err = t.until("the agent to run", soonLimit, func() bool {
		out, err := t.quiet("delegations", "--json")
		return err == nil && strings.Contains(out, `"agent":"parrot"`) && !strings.Contains(out, `"pid":0`)
	})
	if err != nil {
		return err
	}
	if err := t.tale.crash(); err != nil {
		return err
	}
	t.leaves("owner, quoting the question", "yes", "Going ahead", feishutest.Quote(id))
	t.leaves("owner", "are you there?", "are you there?")
	return nil
}

// leaves has the owner write what is answered after the crash.
func (t *feishuTale) leaves(who, text, words string, opts ...feishutest.Option) {
	t.open = append(t.open, said{t.writes(who, t.chat, t.app.Owner, text, opts...), words})
}

func (t *feishuTale) again() error {
	if err := t.startConnected(); err != nil {
		return err
	}
	t.say("")
	t.say("What was missed is caught up on, an answer too: its time is the platform's.")
	t.say("")
	if err := t.finish(t.question, soonLimit, 0); err != nil {
		return err
	}
	for _, m := range t.open {
		t.say("  owner: %s", t.texts[m.id])
		if err := t.answered(m.id, m.words); err != nil {
			return err
		}
	}
	t.say("")
	t.say("The turn that was cut is not run twice, and what its agent left running is stopped.")
	return t.until("the old run to be gone", soonLimit, func() bool {
		out, err := t.quiet("delegations", "--all", "--json")
		return err == nil && !strings.Contains(out, `"agent":"parrot"`)
	})
}

// settled is how long nothing more may come before it is taken for all.
const settled = 3 * time.Second

func (t *feishuTale) count() error {
	n := len(t.p.Sent())
	last := time.Now()
	err := t.until("the bot to be silent", soonLimit, func() bool {
		if now := len(t.p.Sent()); now != n {
			n, last = now, time.Now()
		}
		return time.Since(last) >= settled
	})
	if err != nil {
		return err
	}
	for id, text := range t.texts {
		if got := t.replies(id); len(got) != 1 {
			return fmt.Errorf("%q got %d replies: %q", text, len(got), got)
		}
	}
	if complaints := t.p.Complaints(); len(complaints) > 0 {
		return fmt.Errorf("the platform complains: %q", complaints)
	}
	t.say("%d messages, %d replies.", len(t.texts), len(t.texts))
	return nil
}
