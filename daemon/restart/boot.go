package restart

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"scv/daemon/lock"
	"scv/daemon/process"
	"scv/internal/failpoint"
)

// Start is what a start of the daemon goes on with.
type Start struct {
	Home      string     // the one that is held since an earlier program of this process; "" where it was not carried
	Lock      *lock.Lock // nil: not taken yet
	Listener  *os.File   // the socket, open since an earlier program of this process; nil for none
	Role      lock.Role
	Binary    string     // see OwnPath; "" where it was not carried
	Probation *Probation // nil: this release is proven
	Settled   *Settled   // a restart that this start has found at its end; nil for none
	Err       error      // why the daemon cannot serve
}

// Settled is how a restart ended. Who finds it stores the outcome under the plan, then calls Folder.End.
type Settled struct {
	Plan    string
	Updated bool
	Why     string // not
	// Stuck says that the old release could not be installed again: it serves from its copy, and the hand-over
	// stays, so that the next start of the new one comes back here.
	Stuck bool
}

// World is what Boot is told of this process.
type World struct {
	Args    []string // with its name
	Environ []string
	Build   Release  // this release, without its hash
	Stderr  *os.File // what it writes errors to, for whoever serves in its place; nil: nowhere
}

// Boot is the first act of every program: before flags, configuration, log and store. Where a hand-over is
// under way, it obeys a verdict, goes back, or counts this start. It may not return, since it may become the
// old release.
func Boot(w World) *Start {
	c, environ, inherits := find(w.Environ)
	s := &Start{Role: lock.Daemon}
	home := homeOf(w.Args, environ)
	if inherits {
		home, s.Home, s.Binary, s.Role = c.Home, c.Home, c.Binary, c.Role
		f := In(home)
		if file := process.Inherit(c.Lock, f.lock()); file != nil {
			s.Lock = lock.Inherited(file)
		}
		s.Listener = process.Inherit(c.Listener, "scv.sock")
	}
	if home == "" {
		return s // no daemon is started
	}
	if s.Err = failpoint.Hit(failpoint.RestartBoot); s.Err != nil {
		return s
	}
	f := In(home)
	if _, err := os.Stat(f.join(fileHandover)); err != nil {
		return s
	}
	b := &boot{World: w, folder: f, carried: c, start: s}
	b.Environ = environ
	if err := b.run(); err != nil {
		s.Err = fmt.Errorf("cannot start in the middle of a restart: %w", err)
	}
	return s
}

// boot is one start under a hand-over.
type boot struct {
	World
	folder  Folder
	carried carried
	start   *Start
	sha     string // of this program
}

func (b *boot) run() error {
	if b.start.Lock == nil {
		held, err := b.take()
		if held == nil {
			return err // nil: a daemon serves, and the start itself says so
		}
		b.start.Lock = held
	}
	h, under, err := b.folder.Read()
	if err != nil || !under { // it ended while we waited for the lock
		return err
	}
	if err := b.identify(); err != nil {
		return err
	}
	return b.act(h)
}

func (b *boot) take() (*lock.Lock, error) {
	self, err := process.Self()
	if err != nil {
		return nil, err
	}
	held, err := lock.Take(context.Background(), b.folder.lock(), lock.Own(self, lock.Daemon, ""))
	if errors.Is(err, lock.ErrRunning) {
		return nil, nil
	}
	return held, err
}

// identify finds out which program we are, and says so in the lock.
func (b *boot) identify() error {
	b.sha = b.carried.SHA256
	if b.sha == "" || b.carried.Mark != mark(running()) {
		sum, err := HashOf(running())
		if err != nil {
			return fmt.Errorf("cannot tell which release this is: %w", err)
		}
		b.sha = sum
	}
	return b.tell(b.carried.Old)
}

// tell says in the lock which program we are.
func (b *boot) tell(back bool) error {
	self, err := process.Self()
	if err != nil {
		return err
	}
	h := lock.Own(self, b.start.Role, b.sha)
	h.Back = back
	return b.start.Lock.Write(h)
}

func (b *boot) act(h Handover) error {
	f := b.folder
	verdict, given := f.Verdict()
	isNew := b.sha == h.New.SHA256 && !b.carried.Old
	if h.New.SHA256 == h.Old.SHA256 && given && !verdict.OK {
		isNew = false // both are the same program, and it has to go on
	}
	state := found{New: isNew, Given: given, Verdict: verdict}
	if isNew && !given {
		n, err := f.countStart()
		if err != nil {
			return err
		}
		state.Starts = n
	}
	b.start.Binary = h.Binary
	deed, why := decide(state)
	if deed == prove {
		return b.prove(h)
	}
	if !given {
		stands, err := f.give(why, byDaemon)
		if err != nil {
			return err
		}
		if stands.OK { // somebody was faster
			deed = serve
		}
		why = stands
	}
	settled := &Settled{Plan: h.Plan, Updated: why.OK, Why: why.Why}
	if deed == serve {
		b.start.Settled = settled
		return nil
	}
	installed, err := f.restore(h)
	if err != nil && installed {
		return err // the store
	}
	if deed == become {
		return b.become(h)
	}
	settled.Stuck = !installed
	b.start.Settled = settled
	return b.tell(true)
}

// prove goes on as the new release on probation.
func (b *boot) prove(h Handover) error {
	b.folder.started()
	if err := b.folder.keepStore(h); err != nil {
		return err
	}
	b.start.Probation = newProbation(b, h)
	return nil
}

// become goes back to the old release, where it is installed or else where it is kept.
func (b *boot) become(h Handover) error {
	n := Next{
		Path: h.Binary, Args: b.Args, Environ: b.Environ, Home: b.folder.home, Binary: h.Binary, SHA256: h.Old.SHA256,
		Role: b.start.Role, Old: true, Lock: b.start.Lock, Listener: b.start.Listener,
	}
	return becomeOld(b.folder, n, h, nil)
}

// becomeOld becomes the old release, where it is installed or else where it is kept.
func becomeOld(f Folder, n Next, h Handover, signals process.Signals) error {
	var first error
	if sum, err := HashOf(h.Binary); err == nil && sum == h.Old.SHA256 {
		if first = Become(n, signals); errors.Is(first, process.ErrSignalled) {
			return first
		}
	}
	n.Path = f.join(fileOld)
	return errors.Join(first, Become(n, signals))
}

// homeOf is the home that a command line of `scv run` names, "" for any other command. It knows as little as
// it can of the flags: a release that does not understand them must be counted too.
func homeOf(args, environ []string) string {
	env := func(name string) string {
		for _, v := range environ {
			if value, is := strings.CutPrefix(v, name+"="); is {
				return value
			}
		}
		return ""
	}
	home, runs := "", false
	for i := 1; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "--home" && i+1 < len(args):
			i++
			home = args[i]
		case strings.HasPrefix(arg, "--home="):
			home = strings.TrimPrefix(arg, "--home=")
		case arg == "run":
			runs = true
		case !strings.HasPrefix(arg, "-") && !runs:
			return ""
		}
	}
	if !runs {
		return ""
	}
	if home == "" {
		home = env("SCV_HOME")
	}
	if user := env("HOME"); home == "" && user != "" {
		home = filepath.Join(user, ".scv")
	}
	if home == "" {
		return ""
	}
	abs, err := filepath.Abs(home)
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real
	}
	return abs
}
