package live

import (
	"context"
	"errors"
	"reflect"
	"time"

	"scv/daemon/agent"
	"scv/store"
)

// NotStartedError is why there is no process.
type NotStartedError struct{ Err error }

func (e *NotStartedError) Error() string { return "cannot start a live agent: " + e.Err.Error() }

// Unwrap makes the error behind it be found.
func (e *NotStartedError) Unwrap() error { return e.Err }

var (
	errBusy  = errors.New("the agent is in the middle of another turn of this conversation")
	errLimit = errors.New("the turn took too long")
)

// Ask is one turn for a live agent.
type Ask struct {
	Key    Key
	Agent  agent.Live
	Task   agent.Task // without its environment
	Handle string     // of a new run, if one is begun
	About  store.Delegation
	Once   bool // it ends with the turn: a background delegation, whose run is its own
	Limit  time.Duration
	Spent  time.Duration // of Limit, before
	// Begin writes down that the turn begins, as a part of the run of that handle and before the agent hears of
	// it, and numbers the turn.
	Begin    func(ctx context.Context, handle string) (turn uint32, err error)
	Named    func(ctx context.Context, session string) // the agent's own name of the conversation, when it is known
	Progress func(line string)
}

// Outcome is how a turn ended.
type Outcome struct {
	Reply   agent.Reply // its Session holds without a Text too
	Err     error       // why there is no reply: a sentence for who asked, except with Stopped
	Handle  string      // of the run
	Ended   bool        // so has the run: its record waits for Reported, after the reply is stored
	Stopped string      // why the run was stopped, as the end of a sentence, if that is why there is no reply
	Errors  []byte      // the end of what an ended run printed to stderr
}

// settings are what an agent was started with.
type settings struct {
	name  string
	run   agent.Run
	tools bool
	owner bool
}

func (s settings) same(t settings) bool {
	s.run.Condense, t.run.Condense = nil, nil
	return reflect.DeepEqual(s, t)
}

// settingsOf is what would be started, apart from what names the run itself.
func settingsOf(ask Ask) (settings, error) {
	task := ask.Task
	task.Env, task.Session, task.Prompt = nil, "", ""
	run, err := ask.Agent.Prepare(task)
	return settings{ask.Agent.Name(), run, task.Tools, task.Owner}, err
}

// Turn gives a conversation's agent its next task. The error is of Begin, or ctx has ended: then there is
// nothing to report yet.
func (p *Pool) Turn(ctx context.Context, ask Ask) (Outcome, error) {
	with, err := settingsOf(ask)
	if err != nil {
		return Outcome{Err: err}, nil
	}
	if ask.Once {
		return p.first(ctx, ask, with)
	}
	r, err := p.find(ctx, ask.Key, with)
	switch {
	case ctx.Err() != nil:
		return Outcome{}, ctx.Err()
	case err != nil:
		return Outcome{Err: err}, nil
	case r == nil:
		return p.first(ctx, ask, with)
	}
	return p.next(ctx, ask, r)
}

// next goes on with an agent that has waited.
func (p *Pool) next(ctx context.Context, ask Ask, r *resident) (Outcome, error) {
	turn, err := ask.Begin(ctx, r.handle)
	if err != nil {
		p.rest(context.WithoutCancel(ctx), r)
		return Outcome{}, err
	}
	if err := p.o.Runs.Working(ctx, r.handle, turn, ask.About.MessageID); err != nil {
		p.o.Log.Error("cannot record that an agent works", "handle", r.handle, "err", err)
	}
	limited, cancel := context.WithTimeoutCause(ctx, ask.Limit-ask.Spent, errLimit)
	defer cancel()
	return p.converse(ctx, limited, r, ask)
}

// first begins a new run for the turn.
func (p *Pool) first(ctx context.Context, ask Ask, with settings) (Outcome, error) {
	var err error
	if ask.About.Turn, err = ask.Begin(ctx, ask.Handle); err != nil {
		return Outcome{}, err
	}
	ask.Task.Env = p.o.Runs.Environment(ask.Handle, ask.About)
	program, err := ask.Agent.Prepare(ask.Task)
	if err != nil {
		return Outcome{Err: err}, nil
	}
	run, err := p.o.Runs.StartLive(ctx, ask.Handle, ask.About, program)
	if err != nil {
		if ctx.Err() != nil {
			return Outcome{}, ctx.Err()
		}
		p.o.Log.Error("cannot start a run", "handle", ask.Handle, "err", err)
		return Outcome{Err: &NotStartedError{err}}, nil
	}
	r := &resident{key: ask.Key, handle: ask.Handle, with: with, run: run, gone: make(chan struct{})}
	p.mu.Lock()
	p.residents[ask.Key] = r
	p.mu.Unlock()
	limited, cancel := context.WithTimeoutCause(ctx, ask.Limit-ask.Spent, errLimit)
	defer cancel()
	stdin, stdout := run.Streams()
	session, err := ask.Agent.Open(limited, ask.Task, stdin, stdout)
	if err != nil {
		return p.ended(ctx, limited, r, ask, Outcome{Handle: r.handle, Err: err})
	}
	p.mu.Lock()
	r.session = session
	p.mu.Unlock()
	ask.Named(ctx, session.ID())
	return p.converse(ctx, limited, r, ask)
}

// converse is the turn itself. An agent of a daemon that stops is stopped with it; one that takes too long is
// asked to end its turn, and stays if it does.
func (p *Pool) converse(ctx, limited context.Context, r *resident, ask Ask) (Outcome, error) {
	cut := context.AfterFunc(ctx, func() { p.stop(r, whyStopping) })
	defer cut()
	progress := ask.Progress
	if progress == nil {
		progress = func(string) {}
	}
	o := Outcome{Handle: r.handle}
	o.Reply, o.Err = r.session.Turn(limited, ask.Task, progress)
	if ctx.Err() != nil || r.over() || ask.Once {
		return p.ended(ctx, limited, r, ask, o)
	}
	if o.Err != nil && limited.Err() != nil {
		o.Stopped = tooLong(ask.Limit)
	}
	p.rest(ctx, r)
	return o, nil
}

const whyStopping = "because SCV was stopping"

func tooLong(limit time.Duration) string { return "because it took longer than " + limit.String() }

// ended is the outcome of a turn after which the run is over: what is left of it is stopped.
func (p *Pool) ended(ctx, limited context.Context, r *resident, ask Ask, o Outcome) (Outcome, error) {
	defer close(r.gone)
	defer p.forget(r)
	stopping, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if ctx.Err() != nil {
		p.cut(stopping, r)
		return Outcome{}, ctx.Err()
	}
	o.Ended = true
	if err := r.run.Dismiss(stopping, whyEnded); err != nil {
		p.o.Log.Error("cannot stop a run", "handle", r.handle, "err", err)
		return o, nil
	}
	result, err := r.run.Result(0)
	if err != nil {
		p.o.Log.Error("cannot read a run's result", "handle", r.handle, "err", err)
	}
	o.Errors = result.Errors
	switch {
	case o.Err == nil:
	case limited.Err() != nil:
		o.Stopped = tooLong(ask.Limit)
	case result.Stopped != whyEnded:
		o.Stopped = result.Stopped
	}
	return o, nil
}

// whyEnded is why a run is stopped whose session is over; that says more than this.
const whyEnded = "because its conversation had ended"

// cut ends the run of a daemon that stops. Its claim stays, and the next start explains it.
func (p *Pool) cut(ctx context.Context, r *resident) {
	if p.stop(r, whyStopping) != nil || r.run.Stopped() == "" {
		return
	}
	if err := p.o.Runs.Reported(ctx, r.handle); err != nil {
		p.o.Log.Error("cannot close a run's record; a later pass does", "handle", r.handle, "err", err)
	}
}

// stop stops a run and waits until it is gone, whatever became of the turn's context.
func (p *Pool) stop(r *resident, why string) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	err := r.run.Stop(ctx, why)
	if err != nil {
		p.o.Log.Error("cannot stop a run", "handle", r.handle, "err", err)
	}
	return err
}
