package agent

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// PromptMode says how a plain command is given the task.
type PromptMode string

const (
	ByStdin PromptMode = "stdin" // written to its standard input (the default)
	ByArg   PromptMode = "arg"   // appended as the last argument: for the owner only
)

// MaxArg is the longest prompt given as an argument, in bytes. Linux takes 128 KiB for one argument
// (MAX_ARG_STRLEN); every process of the machine can read it in the process list.
const MaxArg = 100 << 10

// Command is an agent as a person configures it.
type Command struct {
	Driver  string   // which program it is, see Drivers; "" is a plain command that is run once for each turn
	Command []string // the program, by name or absolute path, and its arguments; empty is the driver's own
	Prompt  string   // of a plain command: a PromptMode, "" is ByStdin
	Env     []string // names of further environment variables to keep
	Home    string   // of the SCV that the driver "scv" talks to
}

// Drivers lists what Command.Driver may be besides "".
func Drivers() []string { return []string{"acp", "claude", "codex", "gemini", "opencode", "scv"} }

// FromConfig makes the registry of the configured agents. environ is the daemon's own environment:
// programs are looked for on its PATH, and it is what agents are given a part of.
func FromConfig(commands map[string]Command, environ []string) *Registry {
	r := &Registry{agents: make(map[string]Agent, len(commands))}
	for name, c := range commands {
		r.agents[name] = drive(&perTurn{name: name, conf: c, environ: slices.Clone(environ)})
	}
	return r
}

// drive finds the driver of a configured agent.
func drive(p *perTurn) Agent {
	programs := map[string]program{
		"claude": claude{root: os.Geteuid() == 0}, "codex": codex{}, "gemini": gemini{}, "opencode": opencode{},
	}
	own, perTurn := programs[p.conf.Driver]
	switch {
	case p.conf.Driver == "":
		return p
	case perTurn:
		p.useCommand(p.conf.Driver)
		return &cli{p, own}
	case p.conf.Driver == "scv":
		return newNested(p)
	case p.conf.Driver == "acp":
		return newACP(p)
	}
	p.broken = fmt.Errorf("there is no driver %q", p.conf.Driver)
	return p
}

// useCommand is what is run where nothing else is configured.
func (p *perTurn) useCommand(command ...string) {
	if len(p.conf.Command) == 0 {
		p.conf.Command = command
	}
}

// perTurn is a command that is run once for each turn. It remembers nothing between turns.
type perTurn struct {
	name    string
	conf    Command
	environ []string
	broken  error // why it can never be run
}

func (p *perTurn) Name() string { return p.name }

// Program is the program that is run, as it is configured or as its driver calls it; "" for none.
func (p *perTurn) Program() string {
	if len(p.conf.Command) == 0 {
		return ""
	}
	return p.conf.Command[0]
}

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
	run, err := p.base(t)
	if err != nil || PromptMode(p.conf.Prompt) != ByArg {
		return run, err
	}
	if err := checkArg(run.Stdin, run.Args); err != nil {
		return Run{}, err
	}
	run.Args, run.Stdin = append(run.Args, run.Stdin), ""
	return run, nil
}

// base is the configured command with its environment and the prompt by stdin.
func (p *perTurn) base(t Task) (Run, error) {
	if p.broken != nil {
		return Run{}, p.broken
	}
	path, err := p.find()
	if err != nil {
		return Run{}, err
	}
	if err := p.checkHome(); err != nil {
		return Run{}, err
	}
	keep := slices.Concat(ownEnv(p.conf.Driver, p.conf.Command[0]), p.conf.Env)
	return Run{
		Path:  path,
		Args:  slices.Clone(p.conf.Command[1:]),
		Env:   Environment(p.environ, keep, t.Env),
		Dir:   t.Workspace,
		Stdin: strings.ReplaceAll(strings.ToValidUTF8(t.Prompt, "\uFFFD"), "\x00", "\uFFFD"),
	}, nil
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
