package agent

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"
)

// This file and acp_*.go are the driver of agents that stay between turns: programs that speak the Agent
// Client Protocol, version 1, over their standard streams. We offer such an agent neither our files nor a
// terminal, so it works with tools of its own, as our user, and is for the owner alone.

// Bounds of a conversation with such an agent (docs/rules.md §10).
const (
	acpOpening    = 2 * time.Minute  // until it takes turns: a program may be fetched when it first runs
	acpCancelling = 10 * time.Second // for a cancelled turn to end
	acpWriting    = 30 * time.Second // for a message to be taken
	acpLine       = 10 << 20         // bytes of a message to us: the library closes at more
	acpReply      = 64 << 10         // bytes of a reply, its mark included
	acpQueue      = 256              // messages to us not handled yet: the library closes at 1024
	acpNoise      = 1 << 20          // bytes in a row that are no message
	acpProgress   = 200              // bytes of a line of progress
	acpTitles     = 1000             // tools of a turn whose names are remembered
)

// acpLimits are those that a test waits for.
type acpLimits struct{ opening, cancelling, writing time.Duration }

// acpAgent is a configured command that speaks the protocol.
type acpAgent struct {
	*perTurn
	nested bool // it is another SCV: its background jobs count
	limits acpLimits
}

// NewACP makes the driver of a configured command that speaks the protocol.
func NewACP(name string, c Command, environ []string) Live {
	return newACP(&perTurn{name: name, conf: c, environ: slices.Clone(environ)})
}

func newACP(p *perTurn) *acpAgent {
	return &acpAgent{perTurn: p, limits: acpLimits{acpOpening, acpCancelling, acpWriting}}
}

// Prepare gives the program without a task. Whoever may not use tools is refused: nothing in the protocol
// makes an agent work without.
func (a *acpAgent) Prepare(t Task) (Run, error) {
	t.Prompt = ""
	run, err := a.perTurn.Prepare(t)
	if err == nil && a.nested {
		run.Args = append(run.Args, "--home", a.conf.Home, "agent")
	}
	return run, err
}

// Answer is for a program that ended in the middle of a turn: what it had answered until then is lost.
func (a *acpAgent) Answer([]byte, int) (Reply, error) { return Reply{}, a.wrong(errACPEnded) }

// Open speaks first: the version, then the conversation.
func (a *acpAgent) Open(ctx context.Context, t Task, stdin io.Writer, stdout io.Reader) (LiveSession, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, a.limits.opening, errACPSlow)
	defer cancel()
	s := newACPSession(a, stdin, stdout)
	if err := s.open(ctx, t); err != nil {
		s.end(err)
		return nil, a.wrong(err)
	}
	return s, nil
}

// wrong makes a sentence of why there is no reply.
func (a *acpAgent) wrong(err error) error {
	return fmt.Errorf("the agent %q gave no reply: %w", a.name, err)
}
