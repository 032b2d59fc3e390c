package agent

import (
	"fmt"
	"slices"
	"strings"
)

// PromptMode says how a command is given the task.
type PromptMode string

const (
	ByStdin PromptMode = "stdin" // written to its standard input (the default)
	ByArg   PromptMode = "arg"   // appended as the last argument: for the owner only
)

// MaxArg is the longest prompt given as an argument, in bytes. Linux takes 128 KiB for one argument
// (MAX_ARG_STRLEN); every process of the machine can read it in the process list.
const MaxArg = 100 << 10

// Command is an agent as a person configures it: a program that is run once for each turn.
type Command struct {
	Command []string // the program, by name or absolute path, and its arguments
	Prompt  string   // a PromptMode, "" is ByStdin
	Env     []string // names of further environment variables to keep
}

// FromConfig makes the registry of the configured commands. environ is the daemon's own environment:
// programs are looked for on its PATH, and it is what agents are given a part of.
func FromConfig(commands map[string]Command, environ []string) *Registry {
	r := &Registry{agents: make(map[string]Agent, len(commands))}
	for name, c := range commands {
		r.agents[name] = &perTurn{name: name, conf: c, environ: slices.Clone(environ)}
	}
	return r
}

// perTurn is a command that is run once for each turn. It remembers nothing between turns.
type perTurn struct {
	name    string
	conf    Command
	environ []string
}

func (p *perTurn) Name() string { return p.name }

// Prepare refuses everyone who may not use tools: for a command that somebody configured there is no
// proof that it would use none.
func (p *perTurn) Prepare(t Task) (Run, error) {
	run, err := p.prepare(t)
	if err != nil {
		return Run{}, fmt.Errorf("cannot run the agent %q: %w", p.name, err)
	}
	return run, nil
}

func (p *perTurn) prepare(t Task) (Run, error) {
	switch {
	case !t.Tools:
		return Run{}, ErrNoToolFree
	case !t.Owner: // tools are the owner's, whatever the caller believes
		return Run{}, ErrNotOwner
	}
	path, err := p.find()
	if err != nil {
		return Run{}, err
	}
	keep := p.conf.Env
	if k, ok := knownBy(p.conf.Command[0]); ok {
		keep = append(slices.Clone(k.Env), keep...)
	}
	run := Run{
		Path: path,
		Args: slices.Clone(p.conf.Command[1:]),
		Env:  Environment(p.environ, keep, t.Env),
		Dir:  t.Workspace,
	}
	prompt := strings.ReplaceAll(strings.ToValidUTF8(t.Prompt, "\uFFFD"), "\x00", "\uFFFD")
	if PromptMode(p.conf.Prompt) != ByArg {
		run.Stdin = prompt
		return run, nil
	}
	if err := checkArg(prompt, run.Args); err != nil {
		return Run{}, err
	}
	run.Args = append(run.Args, prompt)
	return run, nil
}

func (p *perTurn) find() (string, error) {
	if len(p.conf.Command) == 0 {
		return "", fmt.Errorf("%w: give it a command in config.toml", ErrNotFound)
	}
	path, err := LookPath(p.environ)(p.conf.Command[0])
	if err != nil {
		return "", fmt.Errorf("%w (%w): install it, or correct command in [agents.%s] of config.toml",
			ErrNotFound, err, p.name)
	}
	return path, nil
}

// checkArg refuses a prompt that the program could take for an option. After a configured "--" there
// are no options any more; we add none ourselves, since not every program knows it.
func checkArg(prompt string, args []string) error {
	if len(prompt) > MaxArg {
		return fmt.Errorf("%w (%d KiB at most): send less, or set prompt = \"stdin\"", ErrTooLong, MaxArg>>10)
	}
	safe := len(args) > 0 && args[len(args)-1] == "--"
	if strings.HasPrefix(prompt, "-") && !safe {
		return fmt.Errorf("%w: begin it with another character, or end the agent's command with \"--\"", ErrLikeOption)
	}
	return nil
}

// Answer takes the whole output as the reply.
func (p *perTurn) Answer(out []byte, exit int) (Reply, error) {
	if exit != 0 {
		return Reply{}, fmt.Errorf("the agent %q did not succeed: %w (%s)", p.name, ErrUnsuccessful, exitWords(exit))
	}
	text := Clean(string(out))
	if text == "" {
		return Reply{}, fmt.Errorf("the agent %q gave no reply: %w", p.name, ErrNoAnswer)
	}
	return Reply{Text: text}, nil
}

func exitWords(exit int) string {
	if exit < 0 {
		return "ended by a signal"
	}
	return fmt.Sprintf("exit code %d", exit)
}
