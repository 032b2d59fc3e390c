package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// program is what tells one driver of a per-turn program from another.
type program interface {
	// args are those after the program's own and the configured ones. env is what it will run with.
	args(t Task, configured, env []string) []string
	// fold adds a line of its output to what is known of its answer; false for one that it does not know.
	fold(s *said, line []byte) bool
	// does is what a line says it does: a line for a person, or "".
	does(line []byte) string
	// forgot reports whether the end of its stderr says that it does not know the session.
	forgot(errs []byte) bool
}

// cli is a program that is run once for each turn, prints lines of JSON, and goes on with an earlier
// conversation when it is given its name.
type cli struct {
	*perTurn
	program program
}

// toolFree is a program with a proven mode without tools.
type toolFree interface {
	// withoutTools changes a run that has no arguments yet so that the program can use no tool.
	withoutTools(t Task, run *Run) error
}

// Prepare says what to run. Who may not use tools is refused, unless there is a proven mode without.
func (c *cli) Prepare(t Task) (Run, error) {
	run, err := c.prepareTurn(t)
	if err != nil {
		return Run{}, fmt.Errorf("cannot run the agent %q: %w", c.name, err)
	}
	return run, nil
}

func (c *cli) prepareTurn(t Task) (Run, error) {
	t.Session = sessionName(t.Session)
	var run Run
	var err error
	switch free, can := c.program.(toolFree); {
	case t.Tools && !t.Owner: // tools are the owner's, whatever the caller believes
		return Run{}, ErrNotOwner
	case t.Tools:
		if run, err = c.base(t); err == nil {
			run.Args = append(run.Args, c.program.args(t, c.conf.Command[1:], run.Env)...)
		}
	case can:
		if run, err = c.base(t); err == nil {
			err = free.withoutTools(t, &run)
		}
	default:
		return Run{}, ErrNoToolFree
	}
	if err != nil {
		return Run{}, err
	}
	run.Condense = c.Condense
	return run, nil
}

// sessionName is the name of a session if it can be one: it becomes an argument, and is not the agent's
// word alone, since the store could be damaged.
func sessionName(s string) string {
	odd := func(r rune) bool {
		return r != '-' && r != '_' && r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}
	if len(s) > 128 || strings.HasPrefix(s, "-") || strings.ContainsFunc(s, odd) {
		return ""
	}
	return s
}

// Condense keeps what Answer needs of an output.
func (c *cli) Condense(out io.Reader) ([]byte, error) { return condense(out, c.program.fold) }

// Answer reads an output, complete or condensed.
func (c *cli) Answer(out []byte, exit int) (Reply, error) {
	s, err := listen(bytes.NewReader(out), c.program.fold)
	if err != nil {
		return Reply{}, fmt.Errorf("cannot read the answer of the agent %q: %w", c.name, err)
	}
	err = c.judge(s, exit)
	switch {
	case err != nil && s.Why != "":
		return Reply{}, &SaidError{Err: err, Said: s.Why}
	case errors.Is(err, ErrNoAnswer): // it may have answered by a file
		return Reply{Session: sessionName(s.Session)}, err
	case err != nil:
		return Reply{}, err
	}
	return Reply{Text: s.reply(), Session: sessionName(s.Session)}, nil
}

// judge is why there is no answer.
func (c *cli) judge(s said, exit int) error {
	switch {
	case s.Lost:
		return c.lost()
	case exit != 0:
		return fmt.Errorf("the agent %q did not succeed: %w (%s)", c.name, ErrUnsuccessful, exitWords(exit))
	case s.Failed:
		return fmt.Errorf("the agent %q did not succeed: %w by its own account", c.name, ErrUnsuccessful)
	case s.reply() != "":
		return nil
	case s.Skipped:
		return fmt.Errorf("the agent %q gave no reply: %w of less than %d MiB", c.name, ErrNoAnswer, maxLine>>20)
	case !s.Spoke:
		return fmt.Errorf("the agent %q gave no reply: %w, and printed nothing that this driver knows: "+
			"driver and command in [agents.%s] of config.toml must fit each other", c.name, ErrNoAnswer, c.name)
	}
	return fmt.Errorf("the agent %q gave no reply: %w", c.name, ErrNoAnswer)
}

func (c *cli) lost() error {
	return fmt.Errorf("the agent %q could not go on: %w", c.name, ErrSessionLost)
}

// Progress tells what a line of output says that the program does.
func (c *cli) Progress(line []byte) string {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '{' {
		return ""
	}
	return c.program.does(validUTF8(line))
}

// Forgot reports whether stderr ends with the word that the session is not known. Not every program says
// it on its standard output.
func (c *cli) Forgot(errs []byte) bool { return c.program.forgot(errs) }

// forgetful is an agent that says so on stderr.
type forgetful interface{ Forgot(errs []byte) bool }

// Verdict is what an agent answered, or why it did not, by all that it printed: errs is the end of its
// stderr. Who kept that calls Verdict instead of Answer.
func Verdict(a Agent, out, errs []byte, exit int) (Reply, error) {
	reply, err := a.Answer(out, exit)
	if f, ok := a.(forgetful); ok && err != nil && exit != 0 && f.Forgot(errs) && !errors.Is(err, ErrSessionLost) {
		err = fmt.Errorf("the agent %q could not go on: %w", a.Name(), ErrSessionLost)
	}
	return reply, err
}

// Condenser keeps of a complete output what Answer needs; nil for an agent of which the beginning is kept.
// Condensing what is condensed changes nothing.
func Condenser(a Agent) func(out io.Reader) ([]byte, error) {
	if c, ok := a.(interface {
		Condense(out io.Reader) ([]byte, error)
	}); ok {
		return c.Condense
	}
	return nil
}

// hasAny reports whether options hold one of these, by itself or with a value.
func hasAny(options []string, these ...string) bool {
	return slices.ContainsFunc(options, func(o string) bool {
		name, _, _ := strings.Cut(o, "=")
		return slices.Contains(these, name)
	})
}
