package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"scv/wire"
	"scv/wire/bus"
)

// nestedHomes are an SCV whose only agent is another SCV, and that one's home with its own agents.
func nestedHomes(t *testing.T, outerMore, innerAgents string) (outer, inner string) {
	t.Helper()
	outer, inner = newHome(t), filepath.Join(t.TempDir(), "inner")
	if err := os.Mkdir(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		outer: fmt.Sprintf("%s[agents.inner]\ndriver = \"scv\"\nhome = %q\n", outerMore, inner),
		inner: innerAgents,
	} {
		if err := os.WriteFile(filepath.Join(path, "config.toml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return outer, inner
}

// TestNestedSCV talks through one SCV to the agent of another, which the first had to start.
func TestNestedSCV(t *testing.T) {
	t.Parallel()
	outer, inner := nestedHomes(t, "", `
[delegations]
max_depth = 3
[agents.echo]
command = ["sh", "-c", "read -r x; case $x in work*) scv delegate --background slow now;; *) echo inner: $x;; esac"]
[agents.slow]
command = ["sh", "-c", "while ! [ -e go ]; do sleep 0.05; done; echo slowly done"]
`)
	d := startDaemon(t, outer)
	c := d.client(t)
	answer := func(id, text string) string {
		t.Helper()
		tell(t, c, id, text)
		line := awaitAnswer(t, c, id)
		if line.Kind != wire.ChatReply {
			t.Fatalf("the answer is %+v\n%s", line, d.log())
		}
		return line.Text
	}
	if r := at(t, inner).scv("channels", "set", "local:default", "--agent", "echo"); r.code == 0 {
		t.Error("the inner daemon runs before anybody needs it")
	}
	chooseAgent(t, inner, "echo")
	if got := answer("m1", "hello"); got != "inner: hello" {
		t.Errorf("says %q", got)
	}
	if got := answer("m2", "again"); got != "inner: again" {
		t.Errorf("says %q", got)
	}
	run := onlyRun(t, c)
	if run.IdleSinceUnixSeconds == nil || run.BackgroundJobs != nil || *run.Turn != 2 || run.Processes < 2 {
		t.Errorf("%+v", run)
	}

	// Background work of the inner one is shown, and its report comes with the next answer.
	handle := answer("m3", "work")
	if !strings.HasPrefix(handle, "slow-") {
		t.Fatalf("says %q", handle)
	}
	until(t, "its job to show", func() bool { e := onlyRun(t, c); return e.BackgroundJobs != nil && *e.BackgroundJobs == 1 })
	status, err := c.Control(t.Context(), wire.StatusCommand{})
	if err != nil || status.Delegations.Active != 1 || *status.Delegations.Idle != 0 {
		t.Errorf("%+v, %v", status.Delegations, err)
	}
	if err := os.WriteFile(filepath.Join(inner, "workspace", "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	until(t, "its job to end", func() bool { return onlyRun(t, c).BackgroundJobs == nil })
	if got := answer("m4", "and?"); !strings.HasPrefix(got, "Background run "+handle+" is finished:\nslowly done\n\n") || !strings.HasSuffix(got, "inner: and?") {
		t.Errorf("says %q", got)
	}
	if got := answer("m5", "more?"); got != "inner: more?" {
		t.Errorf("says %q", got)
	}
	d.terminate(t)
	awaitNobody(t, outer)
	awaitNobody(t, inner)
}

// chooseAgent sets the agent of a home's local chat, by a daemon of its own.
func chooseAgent(t *testing.T, home, name string) {
	t.Helper()
	d := startDaemon(t, home)
	if r := at(t, home).scv("channels", "set", "local:default", "--agent", name); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	d.terminate(t)
}

func onlyRun(t *testing.T, c *bus.Client) wire.DelegationInfo {
	t.Helper()
	status, err := c.Control(t.Context(), wire.DelegationsCommand{})
	if err != nil || len(status.Delegations.Entries) != 1 {
		t.Fatalf("%+v, %v", status.Delegations, err)
	}
	return status.Delegations.Entries[0]
}

// TestNestedSCVTakesTooLong: the inner turn ends with the outer one, and the inner SCV stays.
func TestNestedSCVTakesTooLong(t *testing.T) {
	t.Parallel()
	outer, inner := nestedHomes(t, "[turns]\nowner = \"5s\"\n", "[agents.slow]\ncommand = [\"sh\", \"-c\", \"read -r x; [ $x = quick ] || { touch began; sleep 60; }; echo $x\"]\n")
	d := startDaemon(t, outer)
	c := d.client(t)
	tell(t, c, "m1", "slow")
	awaitFile(t, filepath.Join(inner, "workspace", "began"))
	if line := awaitAnswer(t, c, "m1"); line.Kind != wire.ChatFailure || !strings.Contains(line.Text, "took longer than 5s") {
		t.Errorf("the answer is %+v", line)
	}
	first := onlyRun(t, c)
	tell(t, c, "m2", "quick")
	if line := awaitAnswer(t, c, "m2"); line.Text != "quick" {
		t.Errorf("the answer is %+v\n%s", line, at(t, inner).scv("logs").out)
	}
	if again := onlyRun(t, c); again.PID != first.PID {
		t.Errorf("it is another process: %+v", again)
	}
	d.terminate(t)
	awaitNobody(t, outer)
	awaitNobody(t, inner)
}

// TestNestedInItself: an SCV is no agent of its own.
func TestNestedInItself(t *testing.T) {
	home := newHome(t)
	config := fmt.Sprintf("[agents.inner]\ndriver = \"scv\"\nhome = %q\n", home)
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	d := startDaemon(t, home)
	c := d.client(t)
	tell(t, c, "m1", "hello")
	if line := awaitAnswer(t, c, "m1"); line.Kind != wire.ChatFailure || !strings.Contains(line.Text, "kept for the owner") && !strings.Contains(line.Text, "not for") {
		t.Errorf("the answer is %+v", line)
	}
	d.terminate(t)
	awaitNobody(t, home)
}

// TestNestedProgress: what the agent of an inner SCV does reaches the chat of the outer one.
func TestNestedProgress(t *testing.T) {
	outer, inner := nestedHomes(t, "[turns]\nprogress = \"100ms\"\n", `
[turns]
progress = "100ms"
[agents.works]
driver = "codex"
command = ["sh", "-c", """
echo '{"type":"item.started","item":{"type":"command_execution","command":"make check"}}'
until [ -e go ]; do sleep 0.05; done
echo '{"type":"item.completed","item":{"type":"agent_message","text":"done"}}'"""]
`)
	d := startDaemon(t, outer)
	c := d.client(t)
	tell(t, c, "m1", "hello")
	until(t, "a line of progress", func() bool {
		var none uint64
		got, err := c.ChatAttach(t.Context(), wire.ChatAttach{Account: "default", AfterSeq: &none})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range got.Lines {
			if l.Kind == wire.ChatProgress && l.Text == "inner is at work: works is at work: runs: make check" {
				return true
			}
		}
		return false
	})
	if err := os.WriteFile(filepath.Join(inner, "workspace", "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// The inner chat's lines of progress are none of the news that come with an answer.
	if line := awaitAnswer(t, c, "m1"); line.Kind != wire.ChatReply || line.Text != "done" {
		t.Errorf("the answer is %+v\n%s", line, d.log())
	}
	d.terminate(t)
}
