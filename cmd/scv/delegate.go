package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"scv/wire"
)

type delegateCmd struct {
	Background   bool          `help:"Let the daemon run it, and return at once with its handle."`
	Wait         string        `placeholder:"HANDLE" help:"Wait for the end of a background run instead, and print its report."`
	Conversation string        `placeholder:"NAME" help:"Go on with the agent's conversation of this name, or begin it."`
	Cwd          string        `placeholder:"DIR" help:"Folder to work in (default: this one)."`
	Timeout      time.Duration `help:"Stop it after this long; with --wait, stop waiting."`
	Agent        string        `arg:"" optional:"" help:"The agent, as scv agents names it."`
	Prompt       literal       `arg:"" optional:"" help:"The task, in quotes; - reads it from stdin."`
}

func (*delegateCmd) Help() string {
	return "It gives the task to the agent, shows what it does, and prints its answer. The run is on record with " +
		"the daemon, belongs to this command, and ends with it: Ctrl-C stops all that the agent started. " +
		"Exit code: 0 answered, 1 failed or stopped, 3 no daemon."
}

func (*delegateCmd) example() string { return `scv delegate AGENT "Fix the failing test"` }
func (*delegateCmd) stray() string   { return "put the task in quotes" }

func (c *delegateCmd) Run(a *app) error {
	if c.Timeout < 0 {
		return failf(exitUsage, "try: scv delegate --timeout 30m ...", "--timeout cannot be less than nothing")
	}
	if c.Wait != "" {
		if c.Agent != "" || c.Background {
			return failf(exitUsage, "try: scv delegate --wait HANDLE", "--wait takes a handle and nothing else")
		}
		return a.waitForRun(c.Wait, c.Timeout)
	}
	if c.Agent == "" || c.Prompt == "" {
		return failf(exitUsage, "try: "+c.exampleHere(a), "give an agent and a task")
	}
	prompt, err := c.task(a)
	if err != nil {
		return err
	}
	folder, err := c.folder()
	if err != nil {
		return err
	}
	if c.Background {
		return c.inBackground(a, prompt, folder)
	}
	return c.here(a, prompt, folder)
}

// folder is where the agent works.
func (c *delegateCmd) folder() (string, error) {
	folder, err := filepath.Abs(c.Cwd) // "" is this folder
	if err != nil {
		return "", fmt.Errorf("cannot make %q absolute: %w", c.Cwd, err)
	}
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return "", failf(exitUsage, "name an existing folder with --cwd", "%q is not a folder", folder)
	}
	return folder, nil
}

// task is the prompt as given, or what stdin says for "-".
func (c *delegateCmd) task(a *app) (string, error) {
	prompt := string(c.Prompt)
	if prompt == "-" {
		b, err := readAll(a.ctx, a.stdin, wire.MaxPrompt)
		if err != nil {
			return "", fmt.Errorf("cannot read the task from stdin: %w", err)
		}
		prompt = string(b)
	}
	switch {
	case strings.TrimSpace(prompt) == "":
		return "", failf(exitUsage, "try: "+c.exampleHere(a), "the task is empty")
	case len(prompt) > wire.MaxPrompt:
		return "", failf(exitUsage, "put what is long into a file and name that", "the task is longer than %d KiB", wire.MaxPrompt>>10)
	case !utf8.ValidString(prompt):
		return "", failf(exitUsage, notText, "the task is not UTF-8 text")
	}
	return prompt, nil
}

func (c *delegateCmd) conversation() *string {
	if c.Conversation == "" {
		return nil
	}
	return &c.Conversation
}

var errTookTooLong = errors.New("it took longer than --timeout allows")
