package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"scv/daemon/agent"
	"scv/daemon/process"
	"scv/wire"
	"scv/wire/bus"
)

const (
	lookEvery  = time.Second      // at what the agent has started
	stopWithin = 10 * time.Second // TERM, 2 s, KILL, proof; and once more for what ran away
)

// ownedRun is an agent that this process runs itself.
type ownedRun struct {
	a        *app
	driver   agent.Agent
	ask      wire.DelegationRegister
	cancel   context.CancelCauseFunc
	streamed bool // the answer was shown while it came

	tag   string // SCV_PARENT of its processes
	procs *process.Table
	child *process.Child
	tasks sync.WaitGroup

	errors chan []byte // the end of its stderr
}

// run starts the agent, tells it its task once it is on record, and returns when nothing of it is left.
func (r *ownedRun) run(ctx context.Context, task agent.Task) (reply agent.Reply, err error) {
	program, err := r.driver.Prepare(task)
	if err != nil {
		return reply, err
	}
	r.procs = process.NewTable()
	if err := process.BecomeSubreaper(); err != nil {
		r.a.note("what the agent leaves behind can escape: %v", err)
	}
	out, errs, err := r.spawn(program)
	if err != nil {
		return reply, err
	}
	life, end := context.WithCancel(ctx)
	defer r.tasks.Wait()
	defer end()
	r.tasks.Go(func() { r.showErrors(errs) })
	if err := r.onRecord(ctx); err != nil {
		return reply, errors.Join(err, r.stop(), out.Close())
	}
	r.tasks.Go(func() { r.watch(life) })
	r.tasks.Go(func() { r.staysOnRecord(life) })
	r.tasks.Go(func() { // an interrupt ends the agent, which ends what is read from it
		<-life.Done()
		if ctx.Err() != nil {
			_ = r.stop()
		}
	})
	if live, ok := r.driver.(agent.Live); ok {
		reply, err = r.converse(ctx, live, task, out)
	} else {
		reply, err = r.read(ctx, program, out)
	}
	return reply, errors.Join(err, r.stop(), out.Close())
}

// spawn starts the program. It gets pipes: our terminal stays ours.
func (r *ownedRun) spawn(program agent.Run) (out, errs *os.File, err error) {
	out, outEnd, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("cannot make a pipe: %w", err)
	}
	defer outEnd.Close()
	errs, errsEnd, err := os.Pipe()
	if err != nil {
		out.Close()
		return nil, nil, fmt.Errorf("cannot make a pipe: %w", err)
	}
	defer errsEnd.Close()
	cgroups, _ := process.FindCgroups() // "" makes none
	r.child, err = r.procs.Spawn(process.Spec{
		Path: program.Path, Args: program.Args, Env: program.Env, Dir: program.Dir,
		Stdout: outEnd, Stderr: errsEnd, StdinPipe: true, Cgroup: cgroups.For(r.instance(), r.ask.Handle),
	})
	if err != nil {
		out.Close()
		errs.Close()
		return nil, nil, fmt.Errorf("cannot start agent %q: %w", program.Path, err)
	}
	return out, errs, nil
}

// onRecord has the daemon record the process, which must come before the agent is told its task. One that
// has ended by then needs no record.
func (r *ownedRun) onRecord(ctx context.Context) error {
	pid := uint32(r.child.ID().PID)
	r.ask.PID = &pid
	if _, err := r.register(ctx); err != nil && r.child.ID().Alive() {
		return err
	}
	return nil
}

// staysOnRecord registers the run again whenever the daemon was away.
func (r *ownedRun) staysOnRecord(ctx context.Context) {
	registered := true
	err := r.a.stay(ctx, func(ctx context.Context, client *bus.Client) error {
		if !registered {
			if _, err := client.DelegationRegister(ctx, r.ask); err != nil {
				return err
			}
		}
		registered = false
		select {
		case <-client.Closed():
			return errAway
		case <-ctx.Done():
			return nil
		}
	})
	if err != nil && ctx.Err() == nil && r.child.ID().Alive() {
		r.a.note("scv: the daemon does not keep the run on record any more: %v", err)
	}
}

// watch reaps what the agent leaves behind while it is at work.
func (r *ownedRun) watch(ctx context.Context) {
	for pause(ctx, lookEvery) {
		view, err := r.procs.Scan()
		if err != nil {
			continue
		}
		r.procs.ReapAdopted(view)
	}
}

// traced is what the processes of the run are found by.
func (r *ownedRun) traced() process.Run {
	id := r.child.ID()
	return process.Run{Leader: id, Group: id.PID, Instance: r.instance(), Handle: r.ask.Handle, Cgroup: r.child.Cgroup()}
}

// instance is that of the daemon, which the innermost part of the tag begins with.
func (r *ownedRun) instance() string {
	innermost := r.tag[strings.LastIndexByte(r.tag, ';')+1:]
	instance, _, _ := strings.Cut(innermost, "/")
	return instance
}

// stop ends every process of the run. We adopt only what the agent left, so all of that is the run's too.
func (r *ownedRun) stop() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.a.ctx), stopWithin)
	defer cancel()
	survivors, err := r.procs.Stop(ctx, r.traced())
	_, waited := r.child.Wait()
	err = errors.Join(err, waited)
	for ctx.Err() == nil && err == nil {
		view, scanned := r.procs.Scan()
		if scanned != nil {
			return scanned
		}
		r.procs.ReapAdopted(view)
		left := r.procs.Adopted(view)
		if len(left) == 0 {
			break
		}
		var run process.Run
		for _, p := range left {
			run.Known = append(run.Known, p.ID)
		}
		survivors, err = r.procs.Stop(ctx, run)
	}
	if len(survivors) > 0 {
		return failf(exitFailed, "", "%d processes of %s survived KILL: %v", len(survivors), r.ask.Handle, survivors)
	}
	return err
}

// converse takes one turn with a live agent.
func (r *ownedRun) converse(ctx context.Context, live agent.Live, task agent.Task, out io.Reader) (agent.Reply, error) {
	session, err := live.Open(ctx, task, r.child.Stdin(), out)
	if err != nil {
		return agent.Reply{}, err
	}
	reply, err := session.Turn(ctx, task, r.progress)
	if reply.Session == "" {
		reply.Session = session.ID()
	}
	return reply, err
}

func (r *ownedRun) progress(text string) { r.a.note("· %s", line(text)) }
