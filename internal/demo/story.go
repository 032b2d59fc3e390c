package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	startLimit = 30 * time.Second // for a daemon to answer
	soonLimit  = 30 * time.Second // for anything that should happen at once
)

// config is a whole config.toml: one agent, which here is a few words of shell.
const config = `[agents.parrot]
command = ["sh", "-c", '''
text=$(cat); scv=$(command -v scv)
case "$text" in
*slowly*) sleep 600 ;;
*install*) mv "$scv.new" "$scv" && scv restart --when-idle 2>&1 ;;
*) echo "You wrote: $text" ;;
esac
''']
`

// story is the demo, scene by scene.
func story(s *stage) []scene {
	t := &tale{stage: s}
	return []scene{
		{"A home with one agent", t.makeHome},
		{"Start the daemon", t.startDaemon},
		{"Talk to the agent", t.talk},
		{"A script asks the owner", t.ask},
		{"Leave a question open and a turn running", t.leaveOpen},
		{"The daemon crashes", t.crash},
		{"Start it again", t.startDaemon},
		{"Nothing was lost", t.resume},
		{"Look inside", t.look},
		{"The agent installs a new release", t.update},
		{"Stop", t.stop},
	}
}

// tale is what one scene leaves for the next.
type tale struct {
	*stage
	question *job // scv confirm, waiting
	message  *job // scv chat, waiting
}

func (t *tale) makeHome() error {
	if err := os.MkdirAll(t.home, 0o700); err != nil {
		return fmt.Errorf("cannot make the home: %w", err)
	}
	if err := os.WriteFile(filepath.Join(t.home, "config.toml"), []byte(config), 0o600); err != nil {
		return fmt.Errorf("cannot write config.toml: %w", err)
	}
	t.say("SCV keeps everything in one folder, its home. This demo makes a temporary one. An agent is any")
	t.say("command that reads a prompt and prints an answer; here it is a parrot in a line of shell.")
	t.say("")
	t.typed("export SCV_HOME=" + t.home)
	t.typed("cat $SCV_HOME/config.toml")
	t.printed(config)
	return nil
}

func (t *tale) startDaemon() error {
	log, err := os.OpenFile(t.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("cannot keep the daemon's log: %w", err)
	}
	defer log.Close()
	args := []string{"run"}
	if os.Getenv("SCV_PARENT") != "" { // an agent of another SCV shows the demo
		args = append(args, "--nested")
	}
	if t.daemon, err = t.start(log, args...); err != nil {
		return err
	}
	err = t.until("the daemon to answer", startLimit, func() bool {
		out, err := t.quiet("status", "--json")
		return err == nil && strings.Contains(out, `"state":"connected"`) || t.daemon.ended()
	})
	if err == nil && t.daemon.ended() {
		err = fmt.Errorf("scv run ended at once: %w", exitError(t.daemon))
	}
	if err != nil {
		return err
	}
	return t.expect("local:default", "channels")
}

// exitError is how a job ended that should not have.
func exitError(j *job) error {
	if j.err != nil {
		return j.err
	}
	return fmt.Errorf("exit code 0")
}

func (t *tale) talk() error {
	t.say("Every home has a chat of its own, local:default. A message becomes one run of the agent.")
	t.say("")
	return t.expect("You wrote: hello there", "chat", "--send", "hello there")
}

func (t *tale) ask() error {
	t.say("A script wants to know before it does something. `scv confirm` asks in the owner's chat and waits;")
	t.say("only the owner's yes makes it exit 0.")
	t.say("")
	q, err := t.start(nil, "confirm", "--timeout", "5m", "Deploy version 2?")
	if err != nil {
		return err
	}
	if err := t.untilOpen("Deploy version 2?"); err != nil {
		return err
	}
	if _, err := t.run(0, "questions"); err != nil {
		return err
	}
	t.say("")
	t.say("The owner answers in the chat, in a word:")
	t.say("")
	if _, err := t.run(0, "chat", "--send", "yes"); err != nil {
		return err
	}
	return t.finish(q, soonLimit, 0)
}

// untilOpen waits until a question may be answered.
func (t *tale) untilOpen(question string) error {
	return t.until("the question to be open", soonLimit, func() bool {
		out, err := t.quiet("questions", "--json")
		return err == nil && strings.Contains(out, question) && strings.Contains(out, `"opened_unix_ms"`)
	})
}

func (t *tale) leaveOpen() error {
	var err error
	if t.question, err = t.start(nil, "confirm", "--timeout", "5m", "Delete the old backups?"); err != nil {
		return err
	}
	if t.message, err = t.start(nil, "chat", "--send", "think slowly"); err != nil {
		return err
	}
	if err := t.untilOpen("Delete the old backups?"); err != nil {
		return err
	}
	err = t.until("the agent to run", soonLimit, func() bool {
		out, err := t.quiet("delegations", "--json")
		return err == nil && strings.Contains(out, `"agent":"parrot"`) && !strings.Contains(out, `"pid":0`)
	})
	if err != nil {
		return err
	}
	return t.expect("parrot", "delegations")
}

func (t *tale) crash() error {
	t.say("No warning, no clean-up: the daemon is killed while a question is open and an agent works.")
	t.say("")
	t.typed(fmt.Sprintf("kill -9 %d", t.daemon.cmd.Process.Pid))
	t.daemon.cut()
	t.typed("scv status")
	cmd := t.command(t.ctx, "status")
	out, err := cmd.CombinedOutput()
	t.printed(string(out))
	const noDaemon = 3
	return checkExit(err, noDaemon, []string{"status"})
}

func (t *tale) resume() error {
	t.say("The question is still open, and the script that asked it still waits:")
	t.say("")
	if err := t.expect("Delete the old backups?", "questions"); err != nil {
		return err
	}
	if _, err := t.run(0, "chat", "--send", "yes"); err != nil {
		return err
	}
	if err := t.finish(t.question, soonLimit, 0); err != nil {
		return err
	}
	t.say("")
	t.say("The turn that was cut is not run twice, for nobody knows how far it came; the owner is told, and")
	t.say("what the agent left running is stopped:")
	t.say("")
	const failed = 1
	if err := t.finish(t.message, soonLimit, failed); err != nil {
		return err
	}
	if err := t.cutRunGone(); err != nil {
		return err
	}
	_, err := t.run(0, "delegations", "--all")
	return err
}

// cutRunGone waits until what a crash left running is stopped.
func (t *tale) cutRunGone() error {
	return t.until("the old run to be gone", soonLimit, func() bool {
		out, err := t.quiet("delegations", "--all", "--json")
		return err == nil && !strings.Contains(out, `"agent":"parrot"`)
	})
}

func (t *tale) look() error {
	if err := t.expect("local:default", "status"); err != nil {
		return err
	}
	t.say("")
	t.say("Everything is in one file. What became of a question, with the receipt of its answer:")
	t.say("")
	if err := t.dump("old backups"); err != nil {
		return err
	}
	t.say("")
	t.say("What the owner wrote is shown as length and hash only:")
	t.say("")
	return t.dump(`"kind":"owner"`)
}

// dump shows the rows of the store that hold a word, which must be there.
func (t *tale) dump(word string, flags ...string) error {
	args := append([]string{"store", "dump", "--json"}, flags...)
	t.typed(fmt.Sprintf("%s | grep '%s'", shellLine("scv", args...), word))
	out, err := t.quiet(args...)
	if err != nil {
		return fmt.Errorf("cannot dump the store: %w", err)
	}
	found := false
	for row := range strings.Lines(out) {
		if strings.Contains(row, word) {
			t.printed(row)
			found = true
		}
	}
	switch {
	case !found:
		return fmt.Errorf("the dump has no row with %q", word)
	case len(flags) == 0 && strings.Contains(out, "think slowly"):
		return fmt.Errorf("the dump shows the text of a message")
	}
	return nil
}

// update lets the agent put another build in place and ask for the restart, as it would for its owner.
func (t *tale) update() error {
	pid := t.daemon.cmd.Process.Pid
	if err := copyProgram(t.next, t.scv+".new"); err != nil {
		return err
	}
	version, err := t.quiet("version")
	if err != nil {
		return fmt.Errorf("cannot tell the version: %w", err)
	}
	t.say("Who works on SCV by SCV replaces the program that runs it. Here the owner asks the agent to:")
	t.say("")
	if err := t.expect("restarting into "+nextVersion, "chat", "--send", "please install the new release"); err != nil {
		return err
	}
	t.say("")
	t.say("The daemon waits until the agent has ended and its answer is out. Then it goes over in place, with the")
	t.say("same pid, and keeps the old release until the new one has proven itself (5 s):")
	t.say("")
	err = t.until("the outcome to be told", soonLimit, func() bool {
		out, err := t.quiet("store", "dump", "--json", "--texts")
		return err == nil && strings.Contains(out, "SCV now runs "+nextVersion)
	})
	if err != nil {
		return err
	}
	if err := t.expect(fmt.Sprintf("scv %s, pid %d,", nextVersion, pid), "status"); err != nil {
		return err
	}
	t.say("")
	t.say("It was %s. The owner is told in the chat, once:", strings.TrimSpace(version))
	t.say("")
	return t.dump("SCV now runs "+nextVersion, "--texts")
}

func (t *tale) stop() error {
	pid := t.daemon.cmd.Process.Pid
	t.typed(fmt.Sprintf("kill %d", pid))
	if err := t.daemon.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("cannot stop the daemon: %w", err)
	}
	if err := t.until("the daemon to stop", stopLimit, t.daemon.ended); err != nil {
		return err
	}
	if err := checkExit(t.daemon.err, 0, []string{"run"}); err != nil {
		return err
	}
	if left := leftovers(t.base); len(left) > 0 {
		return fmt.Errorf("the demo left processes running: %v", left)
	}
	t.say("The daemon exited 0 and nothing is left running. To keep an SCV of your own, read README.md.")
	return nil
}
