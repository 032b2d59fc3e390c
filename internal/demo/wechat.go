package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"

	"scv/daemon/channel/wechat/wechattest"
)

// wechatStory is what somebody sees who has SCV in WeChat. The platform is a fake one in this process, and the
// phone is played by us.
func wechatStory(s *stage) []scene {
	w := &wechatTale{tale: &tale{stage: s}}
	return []scene{
		{"A home, and a WeChat on this machine", w.makeHome},
		{"Sign in with a code", w.login},
		{"Start the daemon", w.start},
		{"Write to the agent", w.talk},
		{"A long answer", w.long},
		{"Somebody else writes", w.stranger},
		{"A script asks the owner", w.ask},
		{"The daemon crashes in the middle of an answer", w.crash},
		{"Start it again", w.resume},
		{"The sign-in is over", w.expire},
		{"Stop", w.stop},
	}
}

type wechatTale struct {
	*tale
	p   *wechattest.Platform
	bot wechattest.Bot
}

func (w *wechatTale) makeHome() (err error) {
	if w.p, err = wechattest.Start(wechattest.Options{}); err != nil {
		return err
	}
	w.ends = append(w.ends, w.p.Close)
	if err := os.MkdirAll(w.home, 0o700); err != nil {
		return fmt.Errorf("cannot make the home: %w", err)
	}
	set := config + fmt.Sprintf("\n[wechat]\nstand_in = %q\n", w.p.PlainURL())
	if err := os.WriteFile(filepath.Join(w.home, "config.toml"), []byte(set), 0o600); err != nil {
		return fmt.Errorf("cannot write config.toml: %w", err)
	}
	w.say("The agent is a parrot in a line of shell, and WeChat is a fake one on this machine, which two lines of")
	w.say("config.toml put in the real one's place:")
	w.say("")
	w.typed("export SCV_HOME=" + w.home)
	w.typed("tail -2 $SCV_HOME/config.toml")
	w.printed(set[strings.Index(set, "[wechat]"):])
	return nil
}

func (w *wechatTale) login() error {
	w.say("You scan the code with your phone and agree. The bot that WeChat makes for it is yours:")
	w.say("")
	if err := w.expect("signed in wechat:default", "channels", "login", "wechat"); err != nil {
		return err
	}
	bots := w.p.Bots()
	w.bot = bots[len(bots)-1]
	return nil
}

func (w *wechatTale) start() error {
	if err := w.startDaemon(); err != nil {
		return err
	}
	if err := w.account("connected", ""); err != nil {
		return err
	}
	w.say("")
	w.say("Nobody's words reach an agent before the owner says so, not even their own:")
	w.say("")
	_, err := w.run(0, "channels", "set", "wechat:default", "--remote-tools", "owner")
	if err == nil {
		err = w.account("connected", "")
	}
	return err
}

// account waits until the WeChat account is in a state, with words in its error.
func (w *wechatTale) account(state, words string) error {
	return w.until("the account to be "+state, soonLimit, func() bool {
		out, err := w.quiet("channels", "--json")
		var all []struct {
			ID    string `json:"id"`
			State string `json:"state"`
			Error string `json:"error"`
		}
		if err != nil || json.Unmarshal([]byte(out), &all) != nil {
			return false
		}
		for _, a := range all {
			if a.ID == "wechat:default" {
				return a.State == state && strings.Contains(a.Error, words)
			}
		}
		return false
	})
}

// writes is what a person types on their phone.
func (w *wechatTale) writes(from, who, text string) {
	w.say("  [WeChat] %s: %s", who, text)
	w.p.Say(w.bot.ID, from, text)
}

// sees waits until the owner's phone shows words of the bot, and shows what came since.
func (w *wechatTale) sees(before int, words string) error {
	shown := func() []string { return w.p.Shown(w.bot.ID, w.bot.Owner)[before:] }
	err := w.until(fmt.Sprintf("%q in WeChat", words), soonLimit, func() bool {
		return strings.Contains(strings.Join(shown(), "\n"), words)
	})
	for _, text := range shown() {
		if len(text) > 300 {
			text = text[:60] + fmt.Sprintf(" ... (%d bytes)", len(text))
		}
		w.say("  [WeChat] bot: %s", strings.ReplaceAll(text, "\n", "\n                "))
	}
	return err
}

func (w *wechatTale) shown() int { return len(w.p.Shown(w.bot.ID, w.bot.Owner)) }

func (w *wechatTale) talk() error {
	w.say("While the agent works, the chat shows that somebody is typing.")
	w.say("")
	before := w.shown()
	w.writes(w.bot.Owner, "you", "hello there")
	return w.sees(before, "You wrote: hello there")
}

func (w *wechatTale) long() error {
	w.say("WeChat takes one message in answer to one, and drops a second without a word. A long answer goes in parts,")
	w.say("of which the first alone is that answer:")
	w.say("")
	before, many := w.shown(), strings.Repeat("and so on ", 2200)
	w.p.Say(w.bot.ID, w.bot.Owner, many+"until the end.")
	w.say("  [WeChat] you: %s... (%d bytes)", many[:30], len(many))
	if err := w.sees(before, "until the end."); err != nil {
		return err
	}
	for _, s := range w.p.Sent() {
		if s.Dropped {
			return fmt.Errorf("a part was sent in vain: %.60s", s.Text)
		}
	}
	return nil
}

func (w *wechatTale) stranger() error {
	before := w.shown()
	w.writes("stranger@im.wechat", "stranger", "please install my program")
	w.writes(w.bot.Owner, "you", "still there?")
	if err := w.sees(before, "still there?"); err != nil {
		return err
	}
	if seen := w.p.Shown(w.bot.ID, "stranger@im.wechat"); len(seen) > 0 {
		return fmt.Errorf("the stranger was answered: %q", seen)
	}
	w.say("")
	w.say("The stranger got no answer, and no agent read a word of it.")
	return nil
}

func (w *wechatTale) ask() error {
	before := w.shown()
	q, err := w.tale.start(nil, "confirm", "--timeout", "5m", "Deploy version 2?")
	if err != nil {
		return err
	}
	if err := w.untilOpen("Deploy version 2?"); err != nil {
		return err
	}
	if err := w.sees(before, "Deploy version 2?"); err != nil {
		return err
	}
	w.writes(w.bot.Owner, "you", "是")
	return w.finish(q, soonLimit, 0)
}

func (w *wechatTale) crash() error {
	w.writes(w.bot.Owner, "you", "think slowly")
	err := w.until("the agent to run", soonLimit, func() bool {
		out, err := w.quiet("delegations", "--json")
		return err == nil && strings.Contains(out, `"agent":"parrot"`) && !strings.Contains(out, `"pid":0`)
	})
	if err != nil {
		return err
	}
	w.say("")
	w.typed(fmt.Sprintf("kill -9 %d", w.daemon.cmd.Process.Pid))
	w.daemon.cut()
	w.say("")
	w.writes(w.bot.Owner, "you", "are you back?")
	return nil
}

func (w *wechatTale) resume() error {
	before := w.shown()
	if err := w.startDaemon(); err != nil {
		return err
	}
	w.say("")
	w.say("What was cut is not run twice; its owner is told. What was written meanwhile is answered:")
	w.say("")
	if err := w.sees(before, "are you back?"); err != nil {
		return err
	}
	if all := w.p.Shown(w.bot.ID, w.bot.Owner)[before:]; len(all) != 2 {
		return fmt.Errorf("two messages got %d replies: %q", len(all), all)
	}
	return w.cutRunGone()
}

func (w *wechatTale) expire() error {
	w.say("WeChat may end a bot's session. That needs a person, and the status says what to do:")
	w.say("")
	w.p.Expire(w.bot.ID)
	before := w.shown()
	w.writes(w.bot.Owner, "you", "anybody there?")
	if err := w.account("failed", "scv channels login wechat"); err != nil {
		return err
	}
	if err := w.expect("scv channels login wechat", "status"); err != nil {
		return err
	}
	w.p.PlanSignIn(wechattest.SignIn{Bot: w.bot})
	if err := w.expect("signed in wechat:default", "channels", "login", "wechat"); err != nil {
		return err
	}
	w.say("")
	w.say("The same bot goes on, and what waited is answered:")
	w.say("")
	if err := w.sees(before, "anybody there?"); err != nil {
		return err
	}
	for _, complaint := range w.p.Complaints() {
		return fmt.Errorf("the platform complains: %s", complaint)
	}
	return nil
}
