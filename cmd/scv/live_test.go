package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"scv/daemon/process"
	"scv/internal/testexe"
	"scv/wire"
	"scv/wire/bus"
)

// TestLiveAgentOverACrash kills the daemon in the middle of a live agent's turn: that is explained once,
// the agent is stopped by the next daemon, and the conversation goes on in the agent's own memory.
func TestLiveAgentOverACrash(t *testing.T) {
	t.Parallel()
	home := newHome(t)
	sessions, began, pid := t.TempDir(), filepath.Join(home, "began"), filepath.Join(home, "pid")
	wait := testexe.Script{{ACP: &testexe.ACP{Sessions: sessions, Turns: [][]testexe.ACPStep{
		{{Recall: true}},
		{{Do: &testexe.Step{WritePID: pid}}, {Do: &testexe.Step{WriteFile: &testexe.File{Path: began}}}, {Do: &testexe.Step{SleepMillis: 60_000}}},
	}}}}
	useLive(t, home, wait)
	d := startDaemon(t, home)
	c := d.client(t)
	tell(t, c, "m1", "one")
	if line := awaitAnswer(t, c, "m1"); line.Kind != wire.ChatReply || line.Text != "one" {
		t.Fatalf("the answer is %+v\n%s", line, d.log())
	}
	tell(t, c, "m2", "two")
	awaitFile(t, began)
	agent, err := process.Lookup(awaitPID(t, pid))
	if err != nil {
		t.Fatal(err)
	}
	d.kill()
	useLive(t, home, testexe.Script{{ACP: &testexe.ACP{Sessions: sessions, Turns: [][]testexe.ACPStep{{{Recall: true}}}}}})
	d = startDaemon(t, home)
	c = d.client(t)
	if line := awaitAnswer(t, c, "m2"); line.Kind != wire.ChatFailure || !strings.Contains(line.Text, "not started again") {
		t.Errorf("the answer is %+v", line)
	}
	tell(t, c, "m3", "three")
	if line := awaitAnswer(t, c, "m3"); line.Kind != wire.ChatReply || line.Text != "one|two|three" {
		t.Errorf("the answer is %+v\n%s", line, d.log())
	}
	for deadline := time.Now().Add(10 * time.Second); agent.Alive(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the agent of the dead daemon still runs\n%s", d.log())
		}
	}
	d.terminate(t)
	awaitNobody(t, home)
}

// TestLiveAgentsPermission: what the agent asks is decided by the account's grant.
func TestLiveAgentsPermission(t *testing.T) {
	home := newHome(t)
	useLive(t, home, testexe.Script{{ACP: &testexe.ACP{Turns: [][]testexe.ACPStep{{{Ask: []string{"reject_once", "allow_once"}}, {Say: " "}, {Reach: true}}}}}})
	d := startDaemon(t, home)
	c := d.client(t)
	tell(t, c, "m1", "may I?")
	if line := awaitAnswer(t, c, "m1"); line.Text != "id of allow_once 0" {
		t.Errorf("the answer is %+v", line)
	}
	none := wire.ToolsNone
	if _, err := c.Control(t.Context(), wire.ChannelSetCommand{Channel: "local", Account: "default", Enabled: true, RemoteTools: &none}); err != nil {
		t.Fatal(err)
	}
	tell(t, c, "m2", "and now?")
	if line := awaitAnswer(t, c, "m2"); line.Kind != wire.ChatFailure || !strings.Contains(line.Text, "--remote-tools owner") {
		t.Errorf("the answer is %+v", line)
	}
	d.terminate(t)
	awaitNobody(t, home)
}

// useLive makes a fake agent that speaks ACP the only one of a home.
func useLive(t *testing.T, home string, script testexe.Script) {
	t.Helper()
	path, args := testexe.Command(script)
	words := []string{strconv.Quote(path)}
	for _, arg := range args {
		words = append(words, strconv.Quote(arg))
	}
	config := "[agents.live]\ndriver = \"acp\"\ncommand = [" + strings.Join(words, ", ") + "]\n"
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
}

func tell(t *testing.T, c *bus.Client, id, text string) {
	t.Helper()
	if _, err := c.ChatSend(t.Context(), wire.ChatSend{Account: "default", ID: id, Text: text}); err != nil {
		t.Fatal(err)
	}
}
