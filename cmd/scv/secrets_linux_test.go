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
	home := newHome(t)
	var planted []string
	plant := func() string {
		planted = append(planted, "s3cr3t"+randomID())
		return planted[len(planted)-1]
	}
	for _, name := range []string{
		"API_KEY", "AWS_SECRET_ACCESS_KEY", "DATABASE_URL", "GITHUB_TOKEN", "SCV_TOKEN", "NOTIFY_SOCKET", "PASSWORD", "ssh_pass",
	} {
		t.Setenv(name, plant())
	}
	kept := plant() // the agent is meant to have it, nobody else
	t.Setenv("KEPT_KEY", kept)
	environ := filepath.Join(filepath.Dir(home), "environ") // what the agent has, seen from inside
	out, errs := plant(), plant()
	writeConfig(t, home, fmt.Sprintf("# %s\n[agents.leaky]\ncommand = [\"sh\", \"-c\", %q]\nenv = [\"KEPT_KEY\"]\n[notify]\nowner = [\"local:default\"]\n",
		plant(), "cat >&2; env >"+environ+"; echo "+out[:8]+"'"+out[8:]+"'; echo '"+errs+"' >&2; touch began; [ \"$(ls "+home+"/workspace | wc -l)\" -gt 1 ] && exit 3; exit 0"))
	startDaemon(t, home).terminate(t) // credentials in a home without a store would be an earlier life
	folder := filepath.Join(home, "credentials")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"local:default.json", "feishu:work.json"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(`{"token":"`+plant()+`"}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := startDaemon(t, home, "--log-level", "debug")
	c := d.client(t)
	for i := range 3 {
		id := fmt.Sprint("m", i)
		if _, err := c.ChatSend(t.Context(), wire.ChatSend{Account: "default", ID: id, Text: "my password is " + plant()}); err != nil {
			t.Fatal(err)
		}
		awaitAnswer(t, c, id)
	}
	shown := map[string]string{}
	for _, verb := range []string{
		"status", "status --json", "channels", "channels list --json", "delegations --all", "delegations --all --json", "agents", "store dump", "store dump --json",
	} {
		got := at(t, home).scv(strings.Fields(verb)...)
		if got.code != 0 || got.out == "" {
			t.Errorf("scv %s: %+v", verb, got)
		}
		shown["scv "+verb] = got.out + got.errOut
	}
	for _, broken := range []string{ // a mistake in the file must not put a line of it into an error
		"env = [\"KEY=%s\"]\n", "[agents.x]\ncommand = \"%s\"\n", "token = \"%s\"\n", "[agents.x]\ncommand = [\"%s\n", "[agents.x]\nprompt = \"%s\"\ncommand = [\"x\"]\n",
		"[agents.x]\ncommand = [\"x\"]\nenv = [\"KEY=%s\"]\n", "[timing]\nreconcile = \"%s\"\n", "[notify]\nowner = [\"%s\"]\n",
	} {
		writeConfig(t, home, fmt.Sprintf(broken, plant()))
		got := at(t, home).scv("reload")
		if got.code == 0 {
			t.Errorf("this was taken: %s", broken)
		}
		shown["reload of "+broken] = got.out + got.errOut
	}
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", d.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	shown["the daemon's command line"] = string(cmdline)
	if err := d.cmd.Process.Signal(syscall.SIGABRT); err != nil { // it prints every stack
		t.Fatal(err)
	}
	<-d.ended
	log, err := os.ReadFile(filepath.Join(filepath.Dir(home), "log"))
	if err != nil {
		t.Fatal(err)
	}
	shown["the log and the stacks"] = string(log)
	if !strings.Contains(string(log), "SIGABRT") || !strings.Contains(string(log), "\"DEBUG\"") {
		t.Errorf("this is not the log of a daemon that aborted: %s", log)
	}
	inside, err := os.ReadFile(environ)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(inside), kept) {
		t.Error("the agent does not have what its env names")
	}
	shown["the agent's environment"] = strings.ReplaceAll(string(inside), kept, "")
	if len(planted) < 20 {
		t.Errorf("only %d secrets", len(planted))
	}
	for where, text := range shown {
		for i, secret := range planted {
			if strings.Contains(text, secret) {
				t.Errorf("secret %d is in %s: %.400s", i, where, text[max(0, strings.Index(text, secret)-150):])
			}
		}
	}
	startDaemonAfresh(t, home)
}

// startDaemonAfresh clears up after a daemon that died.
func startDaemonAfresh(t *testing.T, home string) {
	t.Helper()
	writeConfig(t, home, crashConfig)
	startDaemon(t, home).terminate(t)
	awaitNobody(t, home)
}
