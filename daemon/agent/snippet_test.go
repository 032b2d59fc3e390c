package agent_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"scv/daemon/agent"
	"scv/daemon/config"
)

// What `scv agents` tells people to write must be what the daemon reads and can run.
func TestSnippetsAreValidConfiguration(t *testing.T) {
	dir := t.TempDir()
	var all []byte
	commands := map[string]agent.Command{}
	for _, p := range agent.Known() {
		all = append(all, p.Snippet+"\n"...)
		if err := os.WriteFile(filepath.Join(dir, p.Binary), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, config.Name), all, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(home)
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range c.Agents {
		commands[name] = agent.Command(a)
	}
	r := agent.FromConfig(commands, []string{"PATH=" + dir})
	if len(r.Names()) != len(agent.Known()) {
		t.Fatalf("agents %v", r.Names())
	}
	for _, p := range agent.Known() {
		a, _ := r.Get(p.Name)
		run, err := a.Prepare(agent.Task{Prompt: "--hi", Tools: true, Owner: true})
		if err != nil || run.Stdin != "--hi" || slices.Contains(run.Args, "--hi") || p.Driver == "" || run.Path != filepath.Join(dir, p.Binary) {
			t.Errorf("%s: %+v %v", p.Name, run, err)
		}
	}
}

// The two lists of drivers are apart, since config knows no reader of it.
func TestDriversAreTheSame(t *testing.T) {
	if !slices.Equal(config.Drivers(), agent.Drivers()) {
		t.Errorf("config.toml may name %v, and there are %v", config.Drivers(), agent.Drivers())
	}
	for _, driver := range agent.Drivers() {
		r := agent.FromConfig(map[string]agent.Command{"x": {Driver: driver}}, nil)
		a, _ := r.Get("x")
		if _, err := a.Prepare(agent.Task{Prompt: "x", Tools: true, Owner: true}); !errors.Is(err, agent.ErrNotFound) {
			t.Errorf("%s without its program: %v", driver, err)
		}
	}
	a, _ := agent.FromConfig(map[string]agent.Command{"x": {Driver: "other", Command: []string{"/bin/sh"}}}, nil).Get("x")
	if _, err := a.Prepare(agent.Task{Prompt: "x", Tools: true, Owner: true}); err == nil {
		t.Error("an unknown driver runs something")
	}
}
