//go:build agents && linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"scv/internal/fakemodel"
)

// These tests run the real agents that .ci/agents installs, with a daemon and a model server of their own.

// real is a home with the real agents, and what they need.
type real struct {
	t       *testing.T
	program string
	home    string // of scv
	user    string // of the agents: what HOME is to them
	work    string // folder that they work in
	model   *fakemodel.Server
	env     []string
	daemon  *daemonProcess
}

func newReal(t *testing.T) *real {
	t.Helper()
	// Not under the folder for temporary files: Codex gives up a part of its sandbox there.
	root, err := os.MkdirTemp(os.Getenv("SCV_TEST_AGENTS"), "home-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	r := &real{
		t: t, program: builtWith(t, ""), home: filepath.Join(root, "scv"), user: filepath.Join(root, "user"),
		work: filepath.Join(root, "work"), model: &fakemodel.Server{},
	}
	for _, folder := range []string{r.home, r.user, r.work, filepath.Join(r.user, ".codex")} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(r.model)
	t.Cleanup(server.Close)
	r.env = []string{
		"HOME=" + r.user, "SCV_HOME=" + r.home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1",
		"FAKE_KEY=key", "CODEX_HOME=" + filepath.Join(r.user, ".codex"),
		"ANTHROPIC_BASE_URL=" + server.URL, "ANTHROPIC_API_KEY=key",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
	}
	r.write(filepath.Join(r.user, ".codex", "config.toml"), fmt.Sprintf(`
model = "fake"
model_provider = "fake"
[model_providers.fake]
name = "fake"
base_url = "%s/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
`, server.URL))
	r.write(filepath.Join(r.home, "config.toml"), fmt.Sprintf(`
workspace = %q
[agents.codex]
driver = "codex"
command = [%q]
env = ["FAKE_KEY"]
[agents.claude]
driver = "claude"
command = [%q]
env = ["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER"]
`, r.work, os.Getenv("SCV_TEST_CODEX"), os.Getenv("SCV_TEST_CLAUDE")))
	r.start()
	return r
}

func (r *real) write(path, text string) {
	r.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *real) start() {
	r.t.Helper()
	r.daemon = spawnDaemon(r.t, r.home, r.program, r.env)
	if err := r.daemon.ready(r.t); err != nil {
		r.t.Fatalf("%v\n%s", err, r.daemon.log())
	}
}

// end stops the daemon in order, and nothing of any run may be left.
func (r *real) end() {
	r.t.Helper()
	if r.t.Failed() {
		r.t.Log(r.daemon.log())
	}
	r.daemon.terminate(r.t)
	awaitNobody(r.t, r.home)
}

// scv runs the command as the owner would.
func (r *real) scv(args ...string) result {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.program, args...)
	cmd.Env, cmd.Dir = r.env, r.work
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.t.Errorf("scv %s: %v", strings.Join(args, " "), err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

func (r *real) must(args ...string) string {
	r.t.Helper()
	got := r.scv(args...)
	if got.code != 0 {
		r.t.Fatalf("scv %s: exit code %d\n%s%s", strings.Join(args, " "), got.code, got.out, got.errOut)
	}
	return got.out
}

// says sends a message and wants an answer with these words.
func (r *real) says(message, want string) {
	r.t.Helper()
	if got := r.must("chat", "--send="+message); !strings.Contains(got, want) {
		r.t.Errorf("to %q the agent says %q, not %q", message, got, want)
	}
}

func TestRealCodex(t *testing.T)  { realAgent(t, "codex") }
func TestRealClaude(t *testing.T) { realAgent(t, "claude") }

// realAgent is what every real agent for single turns must show.
func realAgent(t *testing.T, name string) {
	r := newReal(t)
	r.must("channels", "set", "local:default", "--agent", name)
	r.says("hello, agent", "You said: hello, agent")
	r.daemon.kill()
	r.start()
	r.says("what did I say first", "You first said: hello, agent")
	r.usesTools(name)
	r.isKilled(name)
	r.says("what did I say first", "You first said: hello, agent")
	r.forgets(name)
	r.end()
}

// usesTools is the owner's authority: a command really ran.
func (r *real) usesTools(name string) {
	r.t.Helper()
	made := filepath.Join(r.work, "made.txt")
	r.says("run: echo by the agent > made.txt; cat made.txt", "It printed: ")
	if b, err := os.ReadFile(made); err != nil || string(b) != "by the agent\n" {
		r.t.Errorf("the command of the agent made %q, %v", b, err)
	}
	got := r.scv("delegate", name, "run: echo again >> made.txt")
	if got.code != 0 || !strings.Contains(got.out, "It printed: ") || !strings.Contains(got.errOut, "runs: echo again >> made.txt") {
		r.t.Errorf("scv delegate: %+v", got)
	}
	if b, _ := os.ReadFile(made); string(b) != "by the agent\nagain\n" {
		r.t.Errorf("the command of the delegation left %q", b)
	}
}

// isKilled kills a run by its handle while a command of the agent is at work: nothing is left.
func (r *real) isKilled(name string) {
	r.t.Helper()
	marker := filepath.Join(r.work, "watched")
	r.write(marker, "")
	sent := make(chan result, 1)
	go func() { sent <- r.scv("chat", "--send=run: tail -f "+marker) }()
	handle := ""
	waitFor(r.t, "the agent's command", r.lately, func() bool {
		if len(processesWith(marker)) == 0 {
			return false
		}
		for _, word := range strings.Fields(r.must("delegations")) {
			if strings.HasPrefix(word, name+"-") {
				handle = word
			}
		}
		return handle != ""
	})
	r.must("kill", handle)
	if left := append(processesWith(marker), processesWith("/"+handle)...); len(left) > 0 {
		r.t.Errorf("after the kill there is still %q", left)
	}
	if got := <-sent; got.code != 1 || !strings.Contains(got.out+got.errOut, "was stopped on request") {
		r.t.Errorf("the chat says %+v", got)
	}
}

// lately is what was said last to the model and in the daemon's log.
func (r *real) lately() string {
	text := r.daemon.log()
	for _, q := range r.model.Requests() {
		text += fmt.Sprintf("%s %d tools %q\n", q.Path, len(q.Tools), q.Texts)
	}
	return text
}

// processesWith are the processes with a text in their arguments or environment, but the scv that sent it.
func processesWith(text string) (found []string) {
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		args, _ := os.ReadFile(filepath.Join(folder, "cmdline"))
		env, _ := os.ReadFile(filepath.Join(folder, "environ"))
		if strings.Contains(string(args)+string(env), text) && !strings.Contains(string(args), "\x00chat\x00--send=") {
			found = append(found, string(args))
		}
	}
	return found
}

func waitFor(t *testing.T, what string, more func() string, ok func() bool) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("waited in vain for %s; %s", what, more())
		}
	}
}

// forgets takes the agent's conversations away: the owner hears so once, and then a new one begins.
func (r *real) forgets(name string) {
	r.t.Helper()
	memory := map[string]string{"codex": ".codex/sessions", "claude": ".claude/projects"}[name]
	if err := os.RemoveAll(filepath.Join(r.user, memory)); err != nil {
		r.t.Fatal(err)
	}
	got := r.scv("chat", "--send=are you there?")
	if got.code != 1 || !strings.Contains(got.out+got.errOut, "does not know the earlier conversation any more") {
		r.t.Errorf("an agent without its memory: %+v", got)
	}
	r.says("a new beginning", "You said: a new beginning")
	r.says("what did I say first", "You first said: a new beginning")
}
