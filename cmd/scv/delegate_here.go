package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"scv/daemon/agent"
	"scv/daemon/config"
	"scv/wire"
	"scv/wire/bus"
)

// here runs the agent as our own child. The daemon keeps it on record and gives it its place; whatever
// happens to us, it knows what is left to stop.
func (c *delegateCmd) here(a *app, prompt, folder string) error {
	driver, err := c.driver(a)
	if err != nil {
		return err
	}
	r := &ownedRun{a: a, driver: driver, errors: make(chan []byte, 1), ask: wire.DelegationRegister{
		Handle: c.Agent + "-" + randomID()[:6], Agent: c.Agent, Cwd: folder, Conversation: c.conversation(),
	}}
	lease, err := r.register(a.ctx)
	if err != nil {
		return err
	}
	r.tag = lease.Parent
	ctx, cancel := context.WithCancelCause(a.ctx)
	defer cancel(nil)
	if c.Timeout > 0 {
		timer := time.AfterFunc(c.Timeout, func() { cancel(errTookTooLong) })
		defer timer.Stop()
	}
	r.cancel = cancel
	task, err := a.taskFor(lease, prompt, folder)
	if err != nil {
		return err
	}
	reply, err := r.run(ctx, task)
	told := r.report(ctx, reply, err)
	r.close(outcomeOf(ctx, err), sessionAfter(reply, err))
	return told
}

// exampleHere is the example with an agent that there is: the one that was named, else the first of config.toml.
// A task that stands in the place of the agent is none.
func (c *delegateCmd) exampleHere(a *app) string {
	name := "AGENT"
	if home, err := a.home(); err == nil {
		if cfg, err := config.Load(home); err == nil && len(cfg.Agents) > 0 {
			name = slices.Min(slices.Collect(maps.Keys(cfg.Agents)))
			if _, known := cfg.Agents[c.Agent]; known {
				name = c.Agent
			}
		}
	}
	return strings.Replace(c.example(), "AGENT", name, 1)
}

// driver is the agent as config.toml has it. We run it with our own environment, not the daemon's.
func (c *delegateCmd) driver(a *app) (agent.Agent, error) {
	home, err := a.home()
	if err != nil {
		return nil, err
	}
	cfg, err := config.Load(home)
	if err != nil {
		return nil, failf(exitFailed, a.mending(err), "%w", err)
	}
	commands := make(map[string]agent.Command, len(cfg.Agents))
	for name, c := range cfg.Agents {
		commands[name] = agent.Command(c)
	}
	agents := agent.FromConfig(commands, os.Environ())
	driver, known := agents.Get(c.Agent)
	if !known {
		names := strings.Join(agents.Names(), ", ")
		if names == "" {
			names = "none yet"
		}
		return nil, failf(exitUsage, "see "+a.command("agents"), "config.toml has no agent %q; it has: %s", c.Agent, names)
	}
	return driver, nil
}

// taskFor is what the agent is to do, with the powers that the daemon leases.
func (a *app) taskFor(lease wire.DelegationLease, prompt, folder string) (agent.Task, error) {
	home, err := a.home()
	if err != nil {
		return agent.Task{}, err
	}
	task := agent.Task{
		Prompt: prompt, Tools: lease.Tools, Owner: true, Workspace: folder,
		Env: map[string]string{
			"SCV_PARENT": lease.Parent, "SCV_DELEGATION_DEPTH": fmt.Sprint(lease.Depth), "SCV_HOME": home,
		},
	}
	if lease.AgentSession != nil {
		task.Session = *lease.AgentSession
	}
	return task, nil
}

// register tells the daemon of the run, before and after it has a process.
func (r *ownedRun) register(ctx context.Context) (lease wire.DelegationLease, err error) {
	asking := *r.a
	asking.ctx = ctx
	err = asking.call(changeLimit, func(ctx context.Context, client *bus.Client) (err error) {
		lease, err = client.DelegationRegister(ctx, r.ask)
		return err
	})
	return lease, err
}

// close ends the record. It is tried also after an interrupt, for a little while.
func (r *ownedRun) close(outcome wire.DelegationOutcome, session *string) {
	ctx, cancel := linger(r.a.ctx, lastWords)
	defer cancel()
	update := wire.DelegationUpdate{Handle: r.ask.Handle, Outcome: outcome, AgentSession: session}
	asking := *r.a
	asking.ctx = ctx
	err := asking.call(changeLimit, func(ctx context.Context, client *bus.Client) error {
		_, err := client.DelegationUpdate(ctx, update)
		return err
	})
	if err != nil {
		r.a.note("scv: the daemon could not be told that %s has ended, and finds out by itself: %v", r.ask.Handle, err)
	}
}

// sessionAfter is the agent's session that the next run goes on with, "" for none and nil for the one before.
func sessionAfter(reply agent.Reply, err error) *string {
	if reply.Session == "" && !errors.Is(err, agent.ErrSessionLost) {
		return nil
	}
	return &reply.Session
}

// outcomeOf is how the run ended.
func outcomeOf(ctx context.Context, err error) wire.DelegationOutcome {
	switch {
	case err == nil:
		return wire.RunFinished
	case ctx.Err() != nil:
		return wire.RunKilled
	}
	return wire.RunFailed
}

// report prints the answer, or says why there is none.
func (r *ownedRun) report(ctx context.Context, reply agent.Reply, err error) error {
	switch cause := context.Cause(ctx); {
	case err == nil && r.streamed:
		return nil
	case err == nil:
		r.a.say("%s", body(reply.Text))
		return nil
	case r.a.ctx.Err() != nil:
		return errInterrupted
	case cause != nil:
		return failf(exitFailed, "", "the agent %s was stopped: %w", r.ask.Agent, cause)
	}
	if own, ok := errors.AsType[*agent.SaidError](err); ok && own.Said != "" {
		r.a.note("%s said: %s", r.ask.Agent, body(own.Said))
	}
	return failf(exitFailed, hintAfter(err), "%w", err)
}

func hintAfter(err error) string {
	if errors.Is(err, agent.ErrSessionLost) {
		return "run the same command again: it begins the conversation anew"
	}
	return ""
}
