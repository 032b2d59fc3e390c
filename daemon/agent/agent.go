// Package agent is the port that a coding agent's driver implements, and the drivers: here the per-turn
// commands that a person configures. A driver turns a task into a program to run, and what the program
// wrote into a reply. It starts nothing, stores nothing and talks to nobody: turn and delegation do.
package agent

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
)

// Task is one turn: what an agent is to do, for whom, and where.
type Task struct {
	Prompt    string            // what the person wrote
	Tools     bool              // the owner's grant; without it the agent must be unable to use any tool
	Owner     bool              // the verified owner asks, in the direct chat
	Session   string            // the agent's own id of the conversation so far, or ""
	Env       map[string]string // SCV_PARENT, SCV_DELEGATION_DEPTH, SCV_HOME
	Workspace string            // absolute folder to work in
}

// Run is a program to start for a task. Stdin is written only after the run is on record, then closed;
// it is closed at once when Stdin is empty, since some agents wait for its end.
type Run struct {
	Path  string   // absolute
	Args  []string // without the program's own name
	Env   []string // all of it, KEY=value
	Dir   string
	Stdin string
	// Condense copies from what the program printed the part that Answer needs, KeptAnswer bytes at most; the
	// rest is not kept. Nil keeps the beginning.
	Condense func(out io.Reader) ([]byte, error)
}

// Reply is what came back.
type Reply struct {
	Text    string // not empty, clean: valid UTF-8, no control characters but \n and \t
	Session string // the agent's own id of the conversation, or ""
}

// Agent is a driver. It may be used by several turns at once.
type Agent interface {
	Name() string
	// Prepare says what to run. Its errors are sentences for the person who wrote; see Err*.
	Prepare(Task) (Run, error)
	// Answer reads what the program wrote to its standard output. exit is its exit code, -1 when a
	// signal ended it. Its errors are sentences for the person who wrote and quote nothing.
	Answer(out []byte, exit int) (Reply, error)
}

// Talkative is an agent whose output tells what it does meanwhile.
type Talkative interface {
	// Progress is one line for a person about one line of the output; "" when there is nothing to tell.
	Progress(line []byte) string
}

// Live is an agent that stays between the turns of one conversation. Prepare gives its program, with an
// empty Stdin; its standard streams then belong to the session.
type Live interface {
	Agent
	// Open begins to talk to a program that was started for t, in its earlier session t.Session where it
	// can. It is bounded by ctx and leaves the streams to the caller, to close after the session.
	Open(ctx context.Context, t Task, stdin io.Writer, stdout io.Reader) (LiveSession, error)
}

// LiveSession is one conversation with a live agent. It takes one turn at a time.
type LiveSession interface {
	ID() string // the agent's own, to resume by
	// Turn gives the agent its next task and waits for the answer. When ctx ends the turn is cancelled.
	// progress is called with lines for a person, never at once from two places.
	Turn(ctx context.Context, t Task, progress func(string)) (Reply, error)
	// BackgroundJobs is what a nested SCV says still runs for it; 0 for every other agent.
	BackgroundJobs() uint32
	// Done is closed when the agent can take no more turns.
	Done() <-chan struct{}
}

// Why an agent is not run. Prepare wraps them with the agent's name.
var (
	ErrNoToolFree   = errors.New("it has no proven mode without tools")
	ErrNotOwner     = errors.New("only the owner may use it")
	ErrNotFound     = errors.New("its program was not found")
	ErrNoHome       = errors.New("the home of the SCV that it is does not exist")
	ErrTooLong      = errors.New("the message is too long to be an argument")
	ErrLikeOption   = errors.New("the message begins with a dash and could be read as an option")
	ErrNoAnswer     = errors.New("it ended without an answer")
	ErrUnsuccessful = errors.New("it failed")
	ErrSessionLost  = errors.New("it does not know the earlier conversation any more") // the next turn must begin a new one
)

// Registry is the agents that can be chosen by name.
type Registry struct{ agents map[string]Agent }

// Get finds an agent by name.
func (r *Registry) Get(name string) (Agent, bool) {
	a, ok := r.agents[name]
	return a, ok
}

// Names lists the agents, sorted.
func (r *Registry) Names() []string { return slices.Sorted(maps.Keys(r.agents)) }

// Only is the name of the only agent; false when there is none, or a choice.
func (r *Registry) Only() (string, bool) {
	names := r.Names()
	if len(names) != 1 {
		return "", false
	}
	return names[0], true
}

// ToolFree reports whether an agent can be run for people who may not use tools.
func ToolFree(a Agent) bool {
	_, err := a.Prepare(Task{Prompt: "hello"})
	return !errors.Is(err, ErrNoToolFree)
}
