package restart

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"scv/daemon/lock"
	"scv/daemon/process"
	"scv/internal/clock"
	"scv/internal/failpoint"
)

// Guard is the process that watches a new release from outside of its fate. It runs the old program.
type Guard struct {
	Home    string
	Environ []string
	Log     *slog.Logger
	// Ask asks the daemon of the home for its status, once.
	Ask func(ctx context.Context, home string) (Answer, error)

	folder   Folder
	handover Handover
	pace     Pace
	self     process.ID
	watched  *process.Witness // of who holds the home; nil: nobody
	begun    bool             // the new release has given a sign of life
	deaths   int              // of the new release
	died     clock.Stamp      // the last of them
	since    clock.Stamp      // a sign of life was last seen
	probing  *probing
}

// Answer is what a daemon says of itself.
type Answer struct {
	Version   string
	PID       int
	Connected []string // accounts
}

// Run watches until there is nothing more to watch. It returns nil when it has done its part; it may not
// return, since it may become the old release.
func (g *Guard) Run(ctx context.Context) error {
	g.folder, g.pace = In(g.Home), pace()
	h, under, err := g.folder.Read()
	if err != nil || !under {
		return errors.Join(err, errors.New("cannot guard: no restart is under way"))
	}
	g.handover = h
	g.Environ = g.folder.borrow(g.Environ) // before the lock, after which nobody waits for it
	if g.self, err = process.Self(); err != nil {
		return err
	}
	g.findWatched()
	held, err := g.watchAlone(ctx)
	if held == nil {
		return err
	}
	defer held.Release()
	g.since = clock.System{}.Now()
	g.probing = newProbing(g)
	defer g.probing.stop()
	defer func() {
		if g.watched != nil {
			g.unwatch()
		}
	}()
	g.Log.Info("watching", "from", h.Old.Version, "to", h.New.Version)
	if err := failpoint.Hit(failpoint.RestartGuard); err != nil {
		return err
	}
	tick := time.NewTicker(g.pace.Look)
	defer tick.Stop()
	for {
		done, err := g.look(ctx)
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// watchAlone takes the guard's lock, nil if another guard has it. Who looks whether there is a guard holds
// it for a moment too.
func (g *Guard) watchAlone(ctx context.Context) (*lock.Lock, error) {
	for deadline := time.Now().Add(time.Second); ; {
		held, err := lock.Try(g.folder.join(fileGuard), lock.Own(g.self, lock.Guard, ""))
		if held != nil || err != nil || time.Now().After(deadline) || ctx.Err() != nil {
			return held, err
		}
		time.Sleep(guardPoll)
	}
}

// findWatched looks who holds the home.
func (g *Guard) findWatched() {
	h, err := lock.Read(g.folder.lock())
	if err != nil || h.PID == 0 || h.PID == g.self.PID {
		return
	}
	w, err := process.Watch(h.PID)
	switch {
	case err != nil:
	case h.Start != 0 && h.Start != w.ID().Start || w.Ended():
		w.Close()
	default:
		g.watched = w
	}
}

// unwatch ends the watch over a process that has ended.
func (g *Guard) unwatch() {
	g.watched.Close()
	g.watched = nil
}

// look judges once. Done: there is nothing more to watch.
func (g *Guard) look(ctx context.Context) (done bool, err error) {
	if _, under, _ := g.folder.Read(); !under {
		return true, nil
	}
	if v, given := g.folder.Verdict(); given {
		if v.OK {
			return true, nil
		}
		return true, g.rollBack(ctx, v)
	}
	v, due, over := g.judge()
	if !due {
		return over, nil
	}
	g.Log.Info("verdict", "ok", v.OK, "why", v.Why)
	if v, err = g.folder.give(v, byGuard); err != nil {
		g.Log.Error("cannot give the verdict, trying again", "err", err)
		return false, nil
	}
	if v.OK {
		return true, nil
	}
	return true, g.rollBack(ctx, v)
}

// judge looks at the new release. Due: there is a verdict to give. Over: there is none to give, and nothing
// to watch any more.
func (g *Guard) judge() (v Verdict, due, over bool) {
	now := clock.System{}.Now()
	if v, due, over := g.judgeLife(now); due || over {
		return v, due, over
	}
	if g.watched == nil {
		return v, false, false // a manager is about to start it
	}
	beat, beats := g.folder.readBeat()
	beats = beats && beat.PID == g.watched.ID().PID
	if beats && !g.begun {
		g.begun = true
		g.probing.forget() // until now the old release has answered
	}
	if !beats && !g.switched() {
		g.since = now // the old release is at work still
		return v, false, false
	}
	if beats && beat.Phase == Migrating && beat.age(now) < g.pace.Silence {
		g.since = later(g.since, beat.At(), now)
	}
	v, due = g.judgeAnswers(now, beats && beat.Phase == Serving)
	return v, due, false
}

// switched reports whether the process that holds the home is, or is about to be, the new release.
func (g *Guard) switched() bool {
	h, err := lock.Read(g.folder.lock())
	return err == nil && h.Runs(g.handover.New.SHA256) && !h.Back
}

// judgeAnswers judges by what the new release says. An answer counts for nothing until its start is complete:
// a status is easily told.
func (g *Guard) judgeAnswers(now clock.Stamp, serving bool) (v Verdict, due bool) {
	seen := g.probing.seen()
	if !g.begun {
		seen = sight{}
	}
	if seen.ok && serving {
		g.since = later(g.since, seen.at, now)
	}
	switch {
	case seen.ok && seen.answer.Version != g.handover.New.Version:
		return Verdict{Why: fmt.Sprintf("it says that it is %s, and not %s", seen.answer.Version, g.handover.New.Version)}, true
	case now.Since(g.since) > g.pace.Silence:
		return Verdict{Why: fmt.Sprintf("it gave no sign of life for %s", g.pace.Silence)}, true
	case !seen.ok || !serving || now.Since(seen.first) < g.pace.Soak || now.Since(seen.at) > g.pace.Soak:
		return v, false
	}
	if missing := g.folder.Missing(seen.answer.Connected); missing != "" && !g.handover.Moves() {
		if now.Since(seen.first) < g.pace.Accounts {
			return v, false
		}
		return Verdict{Why: "the account " + missing + " did not come back"}, true
	}
	return Verdict{OK: true}, true
}

func later(a, b, now clock.Stamp) clock.Stamp {
	if now.Since(b) < now.Since(a) {
		return b
	}
	return a
}

// judgeLife looks whether the new release lives. Gone twice is the end of it; gone once is, unless a
// manager starts it again: what has started it may also have ended it. One that was told to stop is not
// judged: who starts it next starts another guard.
func (g *Guard) judgeLife(now clock.Stamp) (v Verdict, due, over bool) {
	if g.watched != nil {
		if !g.watched.Ended() {
			return v, false, false
		}
		if g.folder.stopped() || g.watched.ToldToEnd() {
			g.stoppedOnPurpose()
			return v, false, true
		}
		g.Log.Warn("what was watched has ended", "pid", g.watched.ID().PID)
		g.unwatch()
		g.died, g.begun = now, false
		g.deaths++
		g.probing.forget()
	}
	if g.findWatched(); g.watched != nil {
		g.since = now
		g.Log.Info("started again", "pid", g.watched.ID().PID)
		return v, false, false
	}
	if g.deaths > 1 || !g.managed() || now.Since(g.died) > g.pace.Manager {
		return Verdict{Why: "it ended before it had proven itself"}, true, false
	}
	return v, false, false
}

// stoppedOnPurpose notes what the release had no time to note itself.
func (g *Guard) stoppedOnPurpose() {
	if g.folder.stopped() {
		return
	}
	if err := errors.Join(g.folder.NoteStopped(), g.folder.takeBack()); err != nil {
		g.Log.Error("cannot note the stop", "err", err)
	}
}

// managed reports whether somebody will start the daemon again.
func (g *Guard) managed() bool { return g.handover.Manager.Alive() }

// becomeStandIn serves with the old release in this process: nobody else does. It makes room for a daemon
// that is started later.
func (g *Guard) becomeStandIn(held *lock.Lock) error {
	h := g.handover
	g.Log.Warn("serving with the old release, because nobody has started it", "version", h.Old.Version)
	return becomeOld(g.folder, Next{
		Path: h.Binary, Args: h.Args, Environ: g.Environ, Home: g.folder.home, Binary: h.Binary,
		SHA256: h.Old.SHA256, Role: lock.StandIn, Old: true, Lock: held,
	}, h, nil)
}
