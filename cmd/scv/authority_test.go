package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"scv/wire"
)

// An agent that tries the owner's doors, in every way a shell has to hide where it comes from. Each
// try leaves its exit code in a file.
const burglar = `#!/bin/sh
try() { name=$1; shift; "$@" >"$name.out" 2>&1; echo $? >"$name.code"; }
try chat scv chat --send yes --timeout 5s
try set scv channels set local:default --remote-tools none
try setsid setsid -w scv chat --send yes --timeout 5s
try clean env -i PATH="$PATH" SCV_HOME="$SCV_HOME" setsid -w scv chat --send yes --timeout 5s
try dump scv store dump
try reload scv reload
try list scv questions list
try status scv status
(setsid sh -c 'scv chat --send yes --timeout 5s >orphan.out 2>&1; echo $? >orphan.code' &)
(env -i PATH="$PATH" SCV_HOME="$SCV_HOME" setsid sh -c 'scv chat --send yes --timeout 5s >bare.out 2>&1; echo $? >bare.code' &)
for i in $(seq 1200); do [ -s orphan.code ] && [ -s bare.code ] && break; sleep 0.05; done
echo done
`

// TestAgentsCannotUseTheOwnersDoors runs the burglar as a real agent while a question is open.
func TestAgentsCannotUseTheOwnersDoors(t *testing.T) {
	home := newHome(t)
	script := filepath.Join(home, "burglar.sh")
	if err := os.WriteFile(script, []byte(burglar), 0o700); err != nil {
		t.Fatal(err)
	}
	config := "[agents.burglar]\ncommand = [\"" + script + "\"]\n[notify]\nowner = [\"local:default\"]\n"
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	d := startDaemon(t, home)
	c := d.client(t)
	status, err := c.Control(t.Context(), wire.ConfirmAskCommand{Question: "Deploy?"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.ChatSend(t.Context(), wire.ChatSend{Account: "default", ID: "m1", Text: "break in"}); err != nil {
		t.Fatal(err)
	}
	if line := awaitAnswer(t, c, "m1"); line.Text != "done" {
		t.Fatalf("the agent's answer: %+v\n%s", line, d.log())
	}
	for name, want := range map[string]string{
		"chat": "1", "set": "1", "setsid": "1", "clean": "1", "dump": "1", "reload": "1", "list": "1",
		"orphan": "1", "bare": "1", "status": "0",
	} {
		code, err := os.ReadFile(filepath.Join(home, "workspace", name+".code"))
		out, _ := os.ReadFile(filepath.Join(home, "workspace", name+".out"))
		if err != nil || strings.TrimSpace(string(code)) != want {
			t.Errorf("%s: exit %q (%v), want %s: %s", name, code, err, want, out)
		}
		if want == "1" && !strings.Contains(string(out), "inside a delegated run") {
			t.Errorf("%s was refused for another reason: %s", name, out)
		}
	}
	detail, err := c.ConfirmShow(t.Context(), status.Confirm.ID)
	if err != nil || detail.Confirm.State != wire.Pending {
		t.Errorf("the question is %s, %v", detail.Confirm.State, err)
	}
	if h, err := c.Control(t.Context(), wire.StatusCommand{}); err != nil || h.Components[0].RemoteTools != wire.ToolsOwner {
		t.Errorf("settings: %+v, %v", h.Components, err)
	}
	d.terminate(t)
}

// TestAgentMayAskItsOwner: the one door that is for agents leads to the chat its run answers.
func TestAgentMayAskItsOwner(t *testing.T) {
	home := newHome(t)
	config := "[agents.asker]\ncommand = [\"sh\", \"-c\", \"scv confirm 'Shall I?'; echo exit $?\"]\n"
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	d := startDaemon(t, home)
	c := d.client(t)
	watch, err := c.WatchChat(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.ChatSend(t.Context(), wire.ChatSend{Account: "default", ID: "m1", Text: "do it"}); err != nil {
		t.Fatal(err)
	}
	for line := range watch {
		if line.Kind == wire.ChatQuestion {
			break
		}
	}
	if _, err := c.ChatSend(t.Context(), wire.ChatSend{Account: "default", ID: "m2", Text: "yes"}); err != nil {
		t.Fatal(err)
	}
	if line := awaitAnswer(t, c, "m1"); line.Text != "yes\nexit 0" {
		t.Errorf("the agent was told %+v", line)
	}
	d.terminate(t)
}
