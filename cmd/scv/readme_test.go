package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"scv/wire"
	"scv/wire/bus"
)

// blocks are the examples in the README under a heading, in order.
func blocks(t *testing.T, heading, language string) []string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("the README has no heading %q", heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var all []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(section, -1) {
		all = append(all, m[1])
	}
	return all
}

// printed is a world in which the README's examples are run as they are printed.
type printed struct {
	t   *testing.T
	d   *daemonProcess
	c   *bus.Client
	dir string
}

func (p *printed) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		p.t.Fatal(err)
	}
}

// runs a command, answers its question, and returns how it ended and what was asked.
func (p *printed) runs(answer, stdin string, command ...string) (out, question string, err error) {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), command[0], command[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdin = append(os.Environ(), "SCV_HOME="+p.d.home), p.dir, strings.NewReader(stdin)
	type ended struct {
		out []byte
		err error
	}
	done := make(chan ended, 1)
	go func() {
		out, err := cmd.CombinedOutput()
		done <- ended{out, err}
	}()
	for open(p.t, p.c) == 0 {
		select {
		case e := <-done:
			p.t.Fatalf("%q asked nobody: %v\n%s", command, e.err, e.out)
		case <-time.After(10 * time.Millisecond):
		}
	}
	list, listErr := p.c.ConfirmList(p.t.Context(), wire.ConfirmListRequest{})
	if listErr != nil {
		p.t.Fatal(listErr)
	}
	say(p.t, p.c, randomID(), answer)
	e := <-done
	return string(e.out), list.Confirms[0].Question, e.err
}

// TestReadmeAsks runs what the README prints under "Ask me before you do it".
func TestReadmeAsks(t *testing.T) {
	t.Parallel()
	const heading = "Ask me before you do it"
	scripts, settings := blocks(t, heading, "sh"), blocks(t, heading, "json")
	if len(scripts) != 2 || len(settings) != 1 {
		t.Fatalf("%d scripts, %d settings", len(scripts), len(settings))
	}
	p := &printed{t: t, d: startDaemon(t, newHome(t)), dir: t.TempDir()}
	p.c = p.d.client(t)
	p.script(scripts[0])
	p.gitHook(scripts[1])
	p.agentHook(settings[0])
	p.d.terminate(t)
}

func (p *printed) script(text string) {
	p.write("deploy", text)
	p.write("release.tar.gz", "v1")
	p.write("put-into-production", "#!/bin/sh\ntouch \"in-production-$1\"\n")
	deployed := filepath.Join(p.dir, "in-production-release.tar.gz")
	nextName := func() {
		first := time.Now().Unix()
		until(p.t, "the next receipt gets another name", func() bool { return time.Now().Unix() > first })
	}
	for _, command := range [][]string{{"./deploy"}, {"sh", "deploy"}} {
		if out, _, err := p.runs("no", "", command...); err == nil || exists(deployed) {
			p.t.Errorf("%q after a no: %v, deployed %v\n%s", command, err, exists(deployed), out)
		}
		nextName()
	}
	out, question, err := p.runs("yes", "", "./deploy")
	if err != nil || !exists(deployed) || !strings.Contains(question, "(for the file release.tar.gz, sha256 ") {
		p.t.Errorf("after a yes: %v, deployed %v, asked %q\n%s", err, exists(deployed), question, out)
	}
	if receipts, _ := filepath.Glob(filepath.Join(p.dir, "deployed-*.json")); len(receipts) != 3 {
		p.t.Errorf("receipts: %q", receipts)
	}
}

func (p *printed) gitHook(text string) {
	git(p.t, p.dir, "init", "-q", "-b", "main")
	git(p.t, p.dir, "init", "-q", "--bare", "-b", "elsewhere", "other.git")
	git(p.t, p.dir, "commit", "-q", "--allow-empty", "-m", "a change")
	p.write(".git/hooks/pre-push", text)
	push := []string{"git", "-c", "safe.directory=*", "push", "-q", "./other.git", "main"}
	if out, _, err := p.runs("no", "", push...); err == nil {
		p.t.Errorf("pushed after a no: %s", out)
	}
	out, question, err := p.runs("yes", "", push...)
	if err != nil || !strings.HasPrefix(question, "Push to main: a change? (for the commit ") || strings.Contains(question, ", ") {
		p.t.Errorf("after a yes: %v, asked %q\n%s", err, question, out)
	}
	git(p.t, p.dir, "push", "-q", "./other.git", "main:elsewhere") // asks nobody
	remove := []string{"git", "-c", "safe.directory=*", "push", "-q", "./other.git", ":main"}
	if out, _, err := p.runs("no", "", remove...); err == nil || strings.Contains(out, "fatal: bad object") {
		p.t.Errorf("removed after a no: %v, %s", err, out)
	}
	if out, question, err := p.runs("yes", "", remove...); err != nil || question != "Delete main over there?" {
		p.t.Errorf("removed after a yes: %v, asked %q\n%s", err, question, out)
	}
}

func (p *printed) agentHook(settings string) {
	var in struct {
		Hooks map[string][]struct {
			Matcher string `json:"matcher"`
			Hooks   []struct {
				Type    string `json:"type"`
				Command string `json:"command"`
				Timeout int    `json:"timeout"`
			} `json:"hooks"`
		} `json:"hooks"`
	}
	if err := json.Unmarshal([]byte(settings), &in, json.RejectUnknownMembers(true)); err != nil {
		p.t.Fatal(err)
	}
	hook := in.Hooks["PreToolUse"][0].Hooks[0]
	const margin = time.Minute // for its start, its last words and a busy machine
	var waits time.Duration
	if _, flag, found := strings.Cut(hook.Command, " --timeout "); found {
		waits, _ = time.ParseDuration(flag)
	}
	if ends := time.Duration(hook.Timeout) * time.Second; hook.Type != "command" || waits <= 0 || ends < waits+afterDeadline+margin {
		p.t.Errorf("the hook may be ended while it waits, which does not deny: %+v", hook)
	}
	matcher := regexp.MustCompile("^(" + in.Hooks["PreToolUse"][0].Matcher + ")$")
	for _, tool := range []string{"Bash", "Write", "Edit", "NotebookEdit", "mcp__x__launch"} {
		if !matcher.MatchString(tool) {
			p.t.Errorf("%s is not asked about", tool)
		}
	}
	for answer, want := range map[string]string{"yes": `"permissionDecision":"allow"`, "no": `"permissionDecision":"deny"`} {
		if out, _, err := p.runs(answer, recorded(p.t, "pre_tool_use.json"), "sh", "-c", hook.Command); err != nil || !strings.Contains(out, want) {
			p.t.Errorf("%s: %v, %s", answer, err, out)
		}
	}
}

// TestReadmeShowsTablesAsTheyAre: the tour prints tables of commands, which must look as these print them.
func TestReadmeShowsTablesAsTheyAre(t *testing.T) {
	d := startDaemon(t, newHome(t))
	defer d.stop(t)
	var printed strings.Builder
	a := &app{stdout: &printed, now: time.Now, getenv: func(string) string { return "" }}
	a.printDelegations(wire.DelegationSummary{Entries: []wire.DelegationInfo{{Handle: "parrot-83f59a", Agent: "parrot"}}})
	printed.WriteString(at(t, d.home).scv("status").out)
	var heads []string
	for l := range strings.Lines(strings.Join(blocks(t, "A tour in one minute", ""), "")) {
		if words := strings.Fields(l); len(words) > 2 && strings.ToUpper(words[0]+words[1]) == words[0]+words[1] {
			heads = append(heads, strings.Join(words, " "))
		}
	}
	if len(heads) != 2 {
		t.Errorf("the tour shows the tables %q", heads)
	}
	said := strings.Join(strings.Fields(printed.String()), " ")
	for _, head := range heads {
		if !strings.Contains(said, head) {
			t.Errorf("the README has a table %q; printed is %q", head, said)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
