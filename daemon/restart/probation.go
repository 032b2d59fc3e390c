package restart

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"scv/daemon/lock"
	"scv/daemon/process"
	"scv/internal/clock"
)

// Probation is the time of a new release until its verdict. It begins with the process: the first sign of
// life comes before flags, configuration and store.
type Probation struct {
	folder   Folder
	handover Handover
	pace     Pace
	world    World
	sha      string
	lock     *lock.Lock
	role     lock.Role
	began    clock.Stamp
	phase    atomic.Value  // a Phase
	accepted chan struct{} // closed when the verdict is ok
	over     chan struct{} // closed when no more beats are wanted
}

// Means is what the daemon lends its probation.
type Means struct {
	Procs   *process.Table
	Signals process.Signals
	Log     *slog.Logger
	Launch  Launch
	// Leave gives up serving in a moment, and gives the socket, nil where it is lost.
	Leave func() *os.File
}

func newProbation(b *boot, h Handover) *Probation {
	p := &Probation{
		folder: b.folder, handover: h, pace: pace(), world: b.World, sha: b.sha, lock: b.start.Lock, role: b.start.Role,
		began: clock.System{}.Now(), accepted: make(chan struct{}), over: make(chan struct{}),
	}
	p.phase.Store(Starting)
	p.beat()
	go p.keepBeating()
	return p
}

// Handover is what is being proven.
func (p *Probation) Handover() Handover { return p.handover }

// Folder is where its files are.
func (p *Probation) Folder() Folder { return p.folder }

// Enter says what the release is at now.
func (p *Probation) Enter(phase Phase) {
	p.phase.Store(phase)
	p.beat()
}

// Accepted is closed when the verdict is that the release stays.
func (p *Probation) Accepted() <-chan struct{} { return p.accepted }

func (p *Probation) keepBeating() {
	tick := time.NewTicker(p.pace.Beat)
	defer tick.Stop()
	for {
		select {
		case <-p.over:
			return
		case <-tick.C:
			p.beat()
		}
	}
}

// beat is missed at most: the guard asks the daemon itself too.
func (p *Probation) beat() {
	now := clock.System{}.Now()
	_ = p.folder.writeBeat(Beat{
		PID: os.Getpid(), Version: p.world.Build.Version, Phase: p.phase.Load().(Phase), BootID: now.BootID, Boot: int64(now.Boot),
	})
}

// ErrGoneBack says that a rollback stands and this process could not become the old release. It must end:
// the store is not its own any more.
var ErrGoneBack = errors.New("the restart was rolled back, and the old release could not be started in place")

// Watch obeys the verdict and keeps a guard, until ctx ends or the verdict is ok. A rollback ends in the old
// release, and so this call never returns from one, or returns ErrGoneBack.
func (p *Probation) Watch(ctx context.Context, m Means) error {
	defer close(p.over)
	tick := time.NewTicker(p.pace.Look)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		v, given := p.folder.Verdict()
		switch {
		case given && v.OK:
			close(p.accepted)
			return nil
		case given:
			return p.goBack(m, v)
		}
		p.keepGuard(ctx, m)
		p.judge(m.Log)
	}
}

// Stopping says that the end which follows is no crash, and that this start does not count.
func (p *Probation) Stopping() error {
	if _, given := p.folder.Verdict(); given {
		return nil
	}
	return errors.Join(p.folder.NoteStopped(), p.folder.takeBack())
}

// keepGuard starts another guard where the last one is gone.
func (p *Probation) keepGuard(ctx context.Context, m Means) {
	if p.folder.guarded() {
		return
	}
	if err := StartGuard(ctx, p.folder, m.Procs, m.Launch, p.world); err != nil {
		m.Log.Error("cannot start the guard of the restart, trying again", "err", err)
	}
}

// judge is for the case that no guard can be had at all.
func (p *Probation) judge(log *slog.Logger) {
	if (clock.System{}).Now().Since(p.began) < p.pace.Limit+p.pace.Accounts {
		return
	}
	_, err := p.folder.give(Verdict{Why: "nobody could tell in time that it works"}, byDaemon)
	if err != nil {
		log.Error("cannot give up the probation, trying again", "err", err)
	}
}

// goBack becomes the old release in place.
func (p *Probation) goBack(m Means, v Verdict) error {
	m.Log.Error("this release is rolled back", "why", v.Why, "to", p.handover.Old.Version)
	listener := m.Leave()
	if installed, err := p.folder.restore(p.handover); err != nil {
		m.Log.Error("the rollback is not complete", "err", err)
		if installed {
			return fmt.Errorf("%w: %w", ErrGoneBack, err)
		}
	}
	h := p.handover
	err := becomeOld(p.folder, Next{
		Path: h.Binary, Args: p.world.Args, Environ: p.world.Environ, Home: p.folder.home, Binary: h.Binary,
		SHA256: h.Old.SHA256, Role: p.role, Old: true, Lock: p.lock, Listener: listener,
	}, h, m.Signals)
	if errors.Is(err, process.ErrSignalled) {
		return nil // the next start goes on from here
	}
	return fmt.Errorf("%w: %w", ErrGoneBack, err)
}
