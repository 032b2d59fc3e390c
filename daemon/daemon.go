// Package daemon is the mind: the composition root that opens the home, starts every room in order,
// answers requests by the table in routes.go, and stops in reverse. Newcomers start at routes.go.
//
// A request goes: socket → transport (who is it) → bus → route (may it) → handler → rule (pure) → one
// store transaction → wake → reply. What runs by itself (accounts, turns, deliveries, deadlines) reads
// the store when woken and every few seconds besides: a wake carries no data.
package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"

	"scv/daemon/agent"
	"scv/daemon/config"
	"scv/daemon/delegation"
	"scv/daemon/inbox"
	"scv/daemon/live"
	"scv/daemon/lock"
	"scv/daemon/logfile"
	"scv/daemon/outbox"
	"scv/daemon/process"
	"scv/daemon/reconcile"
	"scv/daemon/restart"
	"scv/daemon/service"
	"scv/daemon/transport"
	"scv/daemon/turn"
	"scv/internal/clock"
	"scv/internal/failpoint"
	"scv/store"
	"scv/wire/bus"
)

// Options is what the hand decides.
type Options struct {
	Home    string
	Version string
	Log     *slog.Logger
	Level   *slog.LevelVar // of Log, set from [log] of config.toml; nil: the hand has fixed it
	Getenv  func(string) string
	Environ []string // of this process; agents get an allow-list of it
	Program string   // path of scv itself, to look through the store in a process of its own; "": in this one
	Fresh   bool     // begin anew where the store is lost or damaged
	// Ready is called once, when the first request can be answered.
	Ready func(home, socket string)

	// What a restart needs. Without Args there is none.
	Args    []string        // of this process, its name among them
	Commit  string          // of this release
	Schema  uint64          // newest store schema that this release reads
	Link    string          // what Start.Binary says, as a symbolic link, as long as it leads to this release
	Stderr  *os.File        // of this process, for a daemon that serves in its place
	Start   *restart.Start  // what Boot has found; nil: nothing
	Signals process.Signals // that ask for the end

	// clock and inProcess are for tests in virtual time: no socket, no subreaper.
	clock     clock.Clock
	inProcess bool
}

// Daemon is one running instance.
type Daemon struct {
	o     Options
	home  Home
	lock  *lock.Lock
	self  process.ID
	log   *slog.Logger
	file  *logfile.File // half of log; nil until the home is ours
	clock clock.Clock

	config atomic.Pointer[config.Config]
	agents atomic.Pointer[agent.Registry]

	store     *store.Store
	procs     *process.Table
	cgroups   process.Cgroups // where runs get their own
	runs      *delegation.Keeper
	questions *questions
	notices   notices
	outages   *outages
	inbox     *inbox.Inbox
	live      *live.Pool
	turns     *turn.Engine
	outbox    *outbox.Outbox
	accounts  *reconcile.Loop
	embedded  func() (*transport.Server, error) // waits for the one that beginTransport makes
	transport *transport.Server
	bus       atomic.Pointer[bus.Server] // nil until the last step of a start
	locals    locals
	web       *http.Client // of all accounts that speak HTTP
	told      onceSet      // runs whose owner heard that they tried a closed door
	rooms     rooms

	pulse   *service.Pulse
	outside *service.Outside // nil where a session of its own is outside enough

	serving atomic.Pointer[transport.Server] // nil until it takes connections
	leaving chan departure                   // has an element once the daemon goes over to another release
	moving  moving
	proving proving

	examining sync.Mutex // one request to restart at a time
	planning  sync.Mutex // a plan with its hand-over is made or ended
}

// Run serves the home until ctx ends. It returns nil after an orderly stop. Where another release was to take
// over in place and could not, the daemon begins anew in this same process.
func Run(ctx context.Context, o Options) error {
	if o.clock == nil {
		o.clock = clock.System{}
	}
	if o.Start == nil {
		o.Start = &restart.Start{Role: lock.Daemon}
	}
	procs := process.NewTable()
	pulse := service.NewPulse(service.NotifyOf(o.Getenv, os.Getpid()), o.Log)
	defer pulse.Start()()
	outside := service.OutsideOf(o.Environ, procs)
	for {
		d := newDaemon(o, procs)
		d.pulse, d.outside = pulse, outside
		again, err := d.run(ctx)
		if again == nil {
			return err
		}
		o.Start = again
	}
}

func newDaemon(o Options, procs *process.Table) *Daemon {
	return &Daemon{
		o: o, log: o.Log, clock: o.clock, procs: procs, leaving: make(chan departure, 1),
		proving: proving{lost: make(chan error, 1), ended: make(chan struct{})},
	}
}

// run is one life. It returns with what the next one starts with, if there is to be one.
func (d *Daemon) run(ctx context.Context) (again *restart.Start, err error) {
	d.pulse.Busy(startLimit)
	defer func() { d.rooms.stop(d.log) }()
	defer func() { d.noteFailure(err) }() // while the log is still open
	for _, step := range d.steps() {
		if ctx.Err() == nil {
			err = step.run(ctx)
		}
		if ctx.Err() != nil {
			d.pulse.Stopping()
			d.noteStop()
			return nil, nil
		}
		if err != nil {
			if damaged(err) && d.proving.Probation == nil { // a new release that cannot read its store is no good
				return nil, d.serveSafely(ctx, err)
			}
			return nil, fmt.Errorf("cannot start (%s): %w", step.name, err)
		}
	}
	if d.o.Ready != nil {
		d.o.Ready(d.home.Path, d.transport.SocketPath())
	}
	if err := failpoint.Hit(failpoint.RestartServing); err != nil {
		return nil, err
	}
	d.phase(restart.Serving)
	d.pulse.Serving("serving "+d.home.Path, d.answers)
	d.log.Info("serving", "home", d.home.Path, "pid", d.self.PID, "version", d.o.Version)
	select {
	case <-ctx.Done():
		d.pulse.Stopping()
		d.noteStop()
	case err := <-d.proving.lost:
		return nil, err
	case to := <-d.leaving:
		return d.depart(ctx, to)
	}
	d.log.Info("stopping")
	return nil, nil
}

type step struct {
	name string
	run  func(context.Context) error
}

// steps is the order of a start. Each step registers how it is undone, so a stop is this list read
// backwards, also after a start that failed half-way.
func (d *Daemon) steps() []step {
	return []step{
		{"home", d.openHome},
		{"log", d.openLog},
		{"restart", d.beginProving},
		{"embedded server", d.beginTransport},
		{"configuration", d.loadConfig},
		{"store", d.openStore},
		{"processes", d.openProcesses},
		{"rooms", d.makeRooms},
		{"accounts", d.prepareAccounts},
		{"end of the restart", d.holdChanges},
		{"delegations", d.startRuns},
		{"questions", d.startQuestions},
		{"deliveries", d.startWork},
		{"requests", d.startBus},
	}
}

func (d *Daemon) openHome(ctx context.Context) (err error) {
	if d.home, err = OpenHome(d.o.Home); err != nil {
		return err
	}
	if d.self, err = process.Self(); err != nil {
		return fmt.Errorf("cannot tell who we are: %w", err)
	}
	if d.lock = d.o.Start.Lock; d.lock == nil {
		if d.lock, err = d.home.take(ctx, d.self); err != nil {
			return err
		}
	}
	d.rooms.opened("lock", d.closeLock)
	return d.o.Start.Err
}

// loadConfig reads config.toml. A start with a broken one is refused: agents may be meant to be
// restricted by what cannot be read.
func (d *Daemon) loadConfig(context.Context) error {
	c, err := config.Load(d.home.Path)
	if err != nil {
		return err
	}
	d.useConfig(c)
	return nil
}

func (d *Daemon) useConfig(c config.Config) {
	d.config.Store(&c)
	if d.o.Level != nil {
		d.o.Level.Set(c.Log.Level)
	}
	commands := make(map[string]agent.Command, len(c.Agents))
	for name, a := range c.Agents {
		commands[name] = agent.Command(a)
	}
	d.agents.Store(agent.FromConfig(commands, d.o.Environ))
}

func (d *Daemon) openProcesses(context.Context) error {
	if d.o.inProcess {
		return nil
	}
	if err := process.KeepSpares(); err != nil {
		d.log.Warn("a kill may fail where no descriptors are left", "err", err)
	}
	if err := process.BecomeSubreaper(); err != nil {
		d.log.Warn("what an agent leaves behind can escape to the system", "err", err)
	}
	var err error
	if d.cgroups, err = process.FindCgroups(); err != nil {
		d.log.Info("runs get no cgroup of their own; docs/ties.md says what can escape then", "err", err)
	}
	if err := process.Harden(); err != nil {
		d.log.Warn("cannot keep others of this user out of our memory", "err", err)
	}
	return nil
}

// depth is how deep this daemon itself is delegated: 0 at the top.
func (d *Daemon) depth() uint32 {
	n, err := strconv.ParseUint(d.o.Getenv("SCV_DELEGATION_DEPTH"), 10, 16)
	if err != nil {
		return 0
	}
	return uint32(n)
}
