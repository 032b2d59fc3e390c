package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"scv/wire"
)

// TestSecretsStayPut plants 20 secrets where a person has them and looks for each in everything that SCV
// shows: its log at debug, every listing, the dump, command lines, the environment of agents, and what a
// dying daemon prints.
func TestSecretsStayPut(t *testing.T) {
	v := &vault{home: newHome(t), shown: map[string]string{}}
	d := v.fill(t)
	v.look(t, d)
	v.breakConfig(t)
	v.abort(t, d)
	if len(v.planted) < 20 {
		t.Errorf("only %d secrets", len(v.planted))
	}
	for where, text := range v.shown {
		for i, secret := range v.planted {
			if strings.Contains(text, secret) {
				t.Errorf("secret %d is in %s: %.400s", i, where, text[max(0, strings.Index(text, secret)-150):])
			}
		}
	}
	startDaemonAfresh(t, v.home)
}

// vault knows the secrets that were planted and what was shown since.
type vault struct {
	home, kept string // kept is a secret that agents are meant to have
	environ    string // file with what an agent has, seen from inside
	planted    []string
	shown      map[string]string // where → what
}

func (v *vault) plant() string {
	v.planted = append(v.planted, "s3cr3t"+randomID())
	return v.planted[len(v.planted)-1]
}

// fill plants secrets and starts a daemon that has met each of them.
func (v *vault) fill(t *testing.T) *daemonProcess {
	t.Helper()
	for _, name := range []string{
		"API_KEY", "AWS_SECRET_ACCESS_KEY", "DATABASE_URL", "GITHUB_TOKEN", "SCV_TOKEN", "NOTIFY_SOCKET", "PASSWORD", "ssh_pass",
	} {
		t.Setenv(name, v.plant())
	}
	v.kept = v.plant()
	t.Setenv("KEPT_KEY", v.kept)
	v.environ = filepath.Join(filepath.Dir(v.home), "environ")
	out, errs := v.plant(), v.plant()
	script := "cat >&2; env >" + v.environ + "; echo " + out + "; echo " + errs + " >&2; [ -e failed ] && exit 0; touch failed; exit 3"
	path := filepath.Join(filepath.Dir(v.home), "leaky") // on a command line it would be no secret
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	writeConfig(t, v.home, fmt.Sprintf("# %s\n[agents.leaky]\ncommand = [%q]\nenv = [\"KEPT_KEY\"]\n[notify]\nowner = [\"local:default\"]\n"+
		"[feishu]\nstand_in = \"http://127.0.0.1:1\"\n[wechat]\nstand_in = \"http://127.0.0.1:1\"\n", v.plant(), path)) // nobody listens there
	v.plantCredentials(t)
	d := startDaemon(t, v.home, "--log-level", "debug")
	c := d.client(t)
	for i := range 3 {
		id := fmt.Sprint("m", i)
		if _, err := c.ChatSend(t.Context(), wire.ChatSend{Account: "default", ID: id, Text: "my password is " + v.plant()}); err != nil {
			t.Fatal(err)
		}
		awaitAnswer(t, c, id)
	}
	return d
}

func (v *vault) plantCredentials(t *testing.T) {
	t.Helper()
	for name, saved := range map[string]string{
		"feishu/work.json":   `{"app_id":"cli_a","app_secret":"%s","brand":"feishu","owner_open_id":"ou_a"}`,
		"feishu/broken.json": `{"app_id":"cli_b","app_secret":"%s"`,
		"feishu/odd.json":    `{"token":"%s"}`,
		"wechat/work.json":   `{"token":"%s","base_url":"https://ilinkai.weixin.qq.com","bot_id":"b@im.bot","user_id":"u@im.wechat"}`,
		"wechat/broken.json": `{"token":"%s"`,
		"wechat/odd.json":    `{"token":"a b %s","base_url":"https://ilinkai.weixin.qq.com"}`,
	} {
		path := filepath.Join(v.home, "credentials", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, fmt.Appendf(nil, saved, v.plant()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// look takes down what every verb shows, the daemon's command line and the environment of its agent.
func (v *vault) look(t *testing.T, d *daemonProcess) {
	t.Helper()
	for _, verb := range []string{
		"status", "status --json", "channels", "channels list --json", "delegations --all", "delegations --all --json", "agents", "store dump", "store dump --json",
	} {
		got := at(t, v.home).scv(strings.Fields(verb)...)
		if got.code != 0 || got.out == "" {
			t.Errorf("scv %s: %+v", verb, got)
		}
		v.shown["scv "+verb] = got.out + got.errOut
	}
	v.read(t, "the daemon's command line", fmt.Sprintf("/proc/%d/cmdline", d.cmd.Process.Pid))
	v.read(t, "the agent's environment", v.environ)
	inside := v.shown["the agent's environment"]
	if !strings.Contains(inside, v.kept) {
		t.Error("the agent does not have what its env names")
	}
	v.shown["the agent's environment"] = strings.ReplaceAll(inside, v.kept, "")
}

func (v *vault) read(t *testing.T, what, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	v.shown[what] = string(text)
}

// breakConfig makes mistakes in config.toml: none may put a word of it into an error.
func (v *vault) breakConfig(t *testing.T) {
	t.Helper()
	for _, broken := range []string{
		"env = [\"KEY=%s\"]\n", "[agents.x]\ncommand = \"%s\"\n", "token = \"%s\"\n", "[agents.x]\ncommand = [\"%s\n",
		"[agents.x]\nprompt = \"%s\"\ncommand = [\"x\"]\n", "[agents.x]\ncommand = [\"x\"]\nenv = [\"KEY=%s\"]\n",
		"[timing]\nreconcile = \"%s\"\n", "[notify]\nowner = [\"%s\"]\n",
	} {
		writeConfig(t, v.home, fmt.Sprintf(broken, v.plant()))
		got := at(t, v.home).scv("reload")
		if got.code == 0 {
			t.Errorf("this was taken: %s", broken)
		}
		v.shown["reload of "+broken] = got.out + got.errOut
	}
}

// abort has the daemon print every stack and takes down all it ever printed.
func (v *vault) abort(t *testing.T, d *daemonProcess) {
	t.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGABRT); err != nil {
		t.Fatal(err)
	}
	<-d.ended
	const what = "the log and the stacks"
	v.read(t, what, filepath.Join(filepath.Dir(v.home), "log"))
	if log := v.shown[what]; !strings.Contains(log, "SIGABRT") || !strings.Contains(log, `"DEBUG"`) {
		t.Errorf("this is not the log of a daemon that aborted: %s", log)
	}
}

// startDaemonAfresh clears up after a daemon that died.
func startDaemonAfresh(t *testing.T, home string) {
	t.Helper()
	writeConfig(t, home, crashConfig)
	startDaemon(t, home).terminate(t)
	awaitNobody(t, home)
}
