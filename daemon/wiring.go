package daemon

import (
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"scv/daemon/agent"
	"scv/daemon/caller"
	"scv/daemon/channel"
	"scv/daemon/config"
	"scv/daemon/delegation"
	"scv/daemon/inbox"
	"scv/daemon/live"
	"scv/daemon/media"
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
	d.media = media.In(d.home.Path)
	d.web = channel.NewHTTP()
	d.rooms.opened("connections to platforms", func() error { d.web.CloseIdleConnections(); return nil })
	d.runs = delegation.New(delegation.Options{
		Store: d.store, Clock: d.clock, Log: d.log, Procs: d.procs, Cgroups: d.cgroups, Self: d.self,
		Instance: d.home.Instance, Home: d.home.Path, Parent: d.o.Getenv("SCV_PARENT"),
		Depth: d.depth(), MaxDepth: uint32(d.config.Load().Delegations.MaxDepth),
		Condenser: d.condenser,
	})
	d.questions = newQuestions(d)
	d.inbox = inbox.New(inbox.Options{
		Store: d.store, Clock: d.clock, Log: d.log,
		Answer: d.questions.answer, Command: d.command, Recorded: d.recorded, Wake: d.wake,
	})
	timing := d.config.Load().Timing
	d.live = live.New(live.Options{
		Store: d.store, Clock: d.clock, Log: d.log, Runs: d.runs, IdleClose: timing.IdleClose,
	})
	d.turns = turn.New(turn.Options{
		Store: d.store, Clock: d.clock, Log: d.log, Runs: d.runs, Live: d.live, Agents: d.agents.Load,
		Limits: d.turnLimits, Workspace: d.workspace, Typist: d.typist, Replied: d.wake, Reported: d.publishReport, WhyCut: d.whyCut,
		Media: d.media, Carries: carries, Carrier: d.carrier,
		Found: func() []agent.Found { return agent.Find(agent.LookPath(d.o.Environ)) },
	})
	d.outbox = outbox.New(outbox.Options{
		Store: d.store, Log: d.log, Adapter: d.adapter,
		Questions: d.questions, Delivered: d.delivered, Media: d.media, Marks: marks,
	})
	d.outages = newOutages(d)
	d.accounts = reconcile.New(reconcile.Options{
		Desired: d.desired, Make: d.makeAdapter,
		Receive: d.inbox.Receive, ReceiveTo: d.inbox.ReceiveTo, Cursor: d.inbox.Cursor,
		Clock: d.clock, Log: d.log, Changed: d.accountsChanged,
		Interval: timing.Reconcile, StopGrace: timing.StopGrace,
		MinDelay: timing.BackoffMin, MaxDelay: timing.BackoffMax, StableAfter: timing.StableAfter,
	})
	return nil
}

// accountsChanged passes a change of state on to those who live by it.
func (d *Daemon) accountsChanged() {
	d.outbox.Wake()
	d.outages.Wake()
}

// wake makes every room that lives by the store look again.
func (d *Daemon) wake() {
	d.questions.Wake()
	d.turns.Wake()
	d.outbox.Wake()
}

func (d *Daemon) turnLimits() turn.Limits {
	t, m := d.config.Load().Turns, d.config.Load().Media
	return turn.Limits{
		Owner: t.Owner, Others: t.Others, Concurrent: t.Concurrent, Progress: t.Progress,
		OwnerFile: int64(m.OwnerMax) << 20, OthersImage: int64(m.OthersImageMax) << 20,
	}
}

// firstLook is how long after a start the first look at all processes waits: whoever started the daemon
// waits for its first answer, and an orphan is not stopped before 3 s anyway.
const firstLook = 100 * time.Millisecond

func (d *Daemon) startRuns(context.Context) error {
	if err := d.runs.TakeUp(); err != nil {
		return err
	}
	d.rooms.opened("runs", d.letRunsGo)
	d.rooms.running("delegations", func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(firstLook):
			return d.runs.Run(ctx)
		}
	})
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
	d.rooms.running("live agents", d.live.Run) // closed once no turn runs any more
	d.rooms.running("turns", d.turns.Run)
	d.rooms.running("accounts", d.accounts.Run)
	d.rooms.running("outages", d.outages.Run)
	d.rooms.running("restarts", d.restarting)
	return nil
}

// startBus comes last: who can ask can be answered.
func (d *Daemon) startBus(ctx context.Context) error {
	if err := d.accounts.Sync(ctx); err != nil {
		return fmt.Errorf("cannot start the accounts: %w", err)
	}
	return d.openDoor(ctx, d.identify, d.endpoints())
}

// beginTransport brings the embedded server up beside the steps that follow: those wait for the disk, and
// neither needs the other.
func (d *Daemon) beginTransport(ctx context.Context) error {
	options := transport.Options{Log: d.log, PID: process.PeerPID, EventSubjectsInside: []string{wire.EventConfirm + ">", wire.EventRun + ">"}}
	if !d.o.inProcess {
		options.SocketPath, options.Entitled = bus.SocketPath(d.home.Path, d.home.Instance), d.lock.Stands
		options.Listener = d.o.Start.Listener
	}
	up := make(chan struct{})
	var server *transport.Server
	var err error
	go func() {
		defer close(up)
		server, err = transport.New(ctx, options)
	}()
	d.embedded = func() (*transport.Server, error) {
		<-up
		return server, err
	}
	d.rooms.opened("embedded server", func() error {
		if server, err := d.embedded(); err == nil {
			server.Close() // for the second time, unless the start failed before its last step
		}
		return nil
	})
	return nil
}

// openDoor answers requests, and only then opens the socket: nobody comes in to hear that it is too early.
func (d *Daemon) openDoor(ctx context.Context, identify func(*net.UnixConn) transport.Peer, endpoints []bus.Endpoint) (err error) {
	if d.transport, err = d.embedded(); err != nil {
		return err
	}
	d.rooms.opened("transport", func() error { return d.closeTransport(d.transport) })
	server, err := bus.Serve(ctx, d.transport.DaemonConn, d.transport.DaemonPassword(), d.o.Version, endpoints, d.log)
	if err != nil {
		return err
	}
	d.bus.Store(server)
	d.rooms.opened("requests", func() error { server.Close(); return nil })
	if d.o.inProcess {
		return nil
	}
	d.serving.Store(d.transport)
	return d.transport.Open(identify)
}

// identify decides once, when a connection is accepted, who is at its other end.
func (d *Daemon) identify(conn *net.UnixConn) transport.Peer {
	uid, facts := process.Facts(conn)
	peer := transport.Peer{UID: uid}
	if len(facts.Chain) > 0 {
		peer.PID, peer.Start = facts.Chain[0].PID, facts.Chain[0].Start
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

// condenser is how the output of a configured agent is made small.
func (d *Daemon) condenser(name string) func(out io.Reader) ([]byte, error) {
	a, known := d.agents.Load().Get(name)
	if !known {
		return nil
	}
	return agent.Condenser(a)
}
