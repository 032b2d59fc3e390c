package daemon

import (
	"context"
	"fmt"
	"net"

	"scv/daemon/agent"
	"scv/daemon/caller"
	"scv/daemon/config"
	"scv/daemon/delegation"
	"scv/daemon/inbox"
	"scv/daemon/outbox"
	"scv/daemon/process"
	"scv/daemon/reconcile"
	"scv/daemon/transport"
	"scv/daemon/turn"
	"scv/store"
	"scv/wire"
	"scv/wire/bus"
)

// makeRooms makes the rooms and hands each what it needs of the others. Nothing runs yet.
func (d *Daemon) makeRooms(context.Context) error {
	d.runs = delegation.New(delegation.Options{
		Store: d.store, Clock: d.clock, Log: d.log, Procs: d.procs, Self: d.self,
		Instance: d.home.Instance, Home: d.home.Path, Parent: d.o.Getenv("SCV_PARENT"),
		Depth: d.depth(), MaxDepth: uint32(d.config.Load().Delegations.MaxDepth),
	})
	d.questions = newQuestions(d)
	d.inbox = inbox.New(inbox.Options{
		Store: d.store, Clock: d.clock, Log: d.log,
		Answer: d.questions.answer, Recorded: d.recorded, Wake: d.wake,
	})
	d.turns = turn.New(turn.Options{
		Store: d.store, Clock: d.clock, Log: d.log, Runs: d.runs, Agents: d.agents.Load,
		Limits: d.turnLimits, Workspace: d.workspace, Replied: d.wake,
		Found: func() []agent.Found { return agent.Find(agent.LookPath(d.o.Environ)) },
	})
	d.outbox = outbox.New(outbox.Options{
		Store: d.store, Log: d.log, Adapter: d.adapter,
		Questions: d.questions, Delivered: d.delivered,
	})
	timing := d.config.Load().Timing
	d.accounts = reconcile.New(reconcile.Options{
		Desired: d.desired, Make: d.makeAdapter, Receive: d.inbox.Receive,
		Clock: d.clock, Log: d.log, Changed: d.outbox.Wake,
		Interval: timing.Reconcile, StopGrace: timing.StopGrace,
		MinDelay: timing.BackoffMin, MaxDelay: timing.BackoffMax, StableAfter: timing.StableAfter,
	})
	return nil
}

// wake makes every room that lives by the store look again.
func (d *Daemon) wake() {
	d.questions.Wake()
	d.turns.Wake()
	d.outbox.Wake()
}

func (d *Daemon) turnLimits() turn.Limits {
	t := d.config.Load().Turns
	return turn.Limits{Owner: t.Owner, Others: t.Others, Concurrent: t.Concurrent}
}

func (d *Daemon) startRuns(context.Context) error {
	d.rooms.running("delegations", d.runs.Run)
	return nil
}

func (d *Daemon) startQuestions(context.Context) error {
	if err := d.questions.load(); err != nil {
		return err
	}
	d.rooms.running("questions", d.questions.Run)
	return nil
}

func (d *Daemon) startWork(context.Context) error {
	d.rooms.running("housekeeping", d.keepHouse)
	d.rooms.running("deliveries", d.outbox.Run)
	d.rooms.running("turns", d.turns.Run)
	d.rooms.running("accounts", d.accounts.Run)
	return nil
}

// startBus comes last: who can ask can be answered.
func (d *Daemon) startBus(ctx context.Context) (err error) {
	if err := d.accounts.Sync(ctx); err != nil {
		return fmt.Errorf("cannot start the accounts: %w", err)
	}
	if d.transport, err = d.startTransport(ctx, d.identify); err != nil {
		return err
	}
	return d.startServer(ctx, d.endpoints())
}

// startTransport opens the socket.
func (d *Daemon) startTransport(ctx context.Context, identify func(*net.UnixConn) transport.Peer) (*transport.Server, error) {
	options := transport.Options{Log: d.log, Identify: identify, EventSubjectsInside: []string{wire.EventConfirm + ">"}}
	if !d.o.inProcess {
		options.SocketPath, options.Entitled = bus.SocketPath(d.home.Path, d.home.Instance), d.lock.stands
	}
	server, err := transport.Start(ctx, options)
	if err != nil {
		return nil, err
	}
	d.rooms.opened("transport", func() error { server.Close(); return nil })
	return server, nil
}

// startServer answers the requests that come in by it.
func (d *Daemon) startServer(ctx context.Context, endpoints []bus.Endpoint) error {
	server, err := bus.Serve(ctx, d.transport.DaemonConn, d.transport.DaemonPassword(), d.o.Version, endpoints, d.log)
	if err != nil {
		return err
	}
	d.bus.Store(server)
	d.rooms.opened("requests", func() error { server.Close(); return nil })
	return nil
}

// identify decides once, when a connection is accepted, who is at its other end.
func (d *Daemon) identify(conn *net.UnixConn) transport.Peer {
	uid, facts := process.Facts(conn)
	peer := transport.Peer{UID: uid}
	if len(facts.Chain) > 0 {
		peer.PID = facts.Chain[0].PID
	}
	known, err := d.runs.Known()
	if err != nil {
		d.log.Error("cannot read the runs, so a caller counts as inside one", "err", err)
		peer.Verdict = caller.Verdict{Inside: true, Reason: "the runs cannot be read"}
		return peer
	}
	peer.Verdict = caller.Decide(facts, known)
	return peer
}

// workspace is the folder an account's agents work in.
func (d *Daemon) workspace(a store.Account) (string, error) {
	if a.Workspace != "" {
		return a.Workspace, config.CheckFolder(a.Workspace)
	}
	if set := d.config.Load().Workspace; set != "" {
		return set, config.CheckFolder(set)
	}
	return d.home.defaultWorkspace()
}

// publishEvent tells whoever listens. Nobody has to: all of it can be asked for.
func (d *Daemon) publishEvent(subject string, v any) {
	server := d.bus.Load()
	if server == nil {
		return
	}
	if err := server.Publish(subject, v); err != nil {
		d.log.Warn("cannot publish an event", "subject", subject, "err", err)
	}
}

var _ outbox.Questions = (*questions)(nil)
