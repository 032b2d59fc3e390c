package restart

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"scv/daemon/lock"
	"scv/daemon/process"
)

// lockLimit is how long the guard waits for the lock of a release that it has ended.
const lockLimit = 5 * time.Second

// rollBack makes a rollback true from outside. The daemon itself may be doing the same: whoever has the lock
// puts the store back, once, since that consumes the copy.
func (g *Guard) rollBack(ctx context.Context, v Verdict) error {
	g.Log.Warn("rolling back", "why", v.Why)
	if g.obeyed(ctx) && g.settles(ctx) {
		g.Log.Info("the daemon has gone back by itself")
		return nil
	}
	// The program before its process: a manager that is quick must find the old one.
	if _, err := g.folder.putBack(g.handover); err != nil {
		g.Log.Error("the old release cannot be installed again; it will run from its copy", "err", err)
	}
	held, err := g.takeHome(ctx)
	if held == nil {
		return err
	}
	if err := g.folder.storeBack(); err != nil {
		return errors.Join(err, releasing(held))
	}
	return g.handBack(ctx, held)
}

func releasing(held *lock.Lock) error {
	held.Release()
	return nil
}

// obeyed waits for the new release to go back by itself: the holder of the home runs the old one.
func (g *Guard) obeyed(ctx context.Context) bool {
	for deadline := time.Now().Add(g.pace.Willing); time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(guardPoll) {
		h, err := lock.Read(g.folder.lock())
		switch {
		case err != nil || !h.Alive():
			return false
		case g.servesOld(h):
			return true
		}
	}
	return false
}

// settles waits until the old release has settled the restart, or serves for long without that: it could not
// be installed again, and goes on from its copy. False: it has ended, unasked, and somebody else must serve. It
// may have been ended by us, at the very moment in which it went back.
func (g *Guard) settles(ctx context.Context) bool {
	for deadline := time.Now().Add(g.pace.Silence); ; time.Sleep(guardPoll) {
		if _, under, _ := g.folder.Read(); !under || ctx.Err() != nil || time.Now().After(deadline) {
			return true
		}
		if h, err := lock.Read(g.folder.lock()); err != nil || !h.Alive() {
			return g.folder.stopped() || g.watched != nil && g.watched.Ended() && g.watched.ToldToEnd()
		}
	}
}

// servesOld reports whether a holder is one that goes on as the old release.
func (g *Guard) servesOld(h lock.Holder) bool {
	return h.Role != lock.Guard && (h.Back || h.Runs(g.handover.Old.SHA256) && !h.Runs(g.handover.New.SHA256))
}

// takeHome ends the new release, if it lives, and takes the lock. Nil without an error: the old release has
// it already.
func (g *Guard) takeHome(ctx context.Context) (*lock.Lock, error) {
	for deadline := time.Now().Add(lockLimit); ; time.Sleep(guardPoll) {
		held, err := lock.Try(g.folder.lock(), lock.Own(g.self, lock.Guard, g.handover.Old.SHA256))
		if held != nil || err != nil {
			return held, err
		}
		h, err := lock.Read(g.folder.lock())
		if err != nil {
			return nil, err
		}
		switch {
		case g.servesOld(h) && h.Alive():
			if g.settles(ctx) {
				return nil, nil
			}
			deadline = time.Now().Add(lockLimit)
		case h.Runs(g.handover.New.SHA256) && h.Alive():
			g.end(h)
		case time.Now().After(deadline):
			return nil, fmt.Errorf("cannot roll back: process %d holds the home", h.PID)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// end kills a holder of the home that runs the new release and does not go back.
func (g *Guard) end(h lock.Holder) {
	id, err := process.Lookup(h.PID)
	if err != nil || id.Start != h.Start {
		return
	}
	g.Log.Warn("ending the new release", "pid", h.PID)
	if err := process.Kill(id); err != nil && !errors.Is(err, os.ErrProcessDone) {
		g.Log.Error("cannot end the new release", "pid", h.PID, "err", err)
	}
}

// handBack lets a manager start the old release, or serves with it. The store and the program are back.
func (g *Guard) handBack(ctx context.Context, held *lock.Lock) error {
	if !g.managed() {
		return errors.Join(g.becomeStandIn(held), releasing(held))
	}
	held.Release()
	for deadline := time.Now().Add(g.pace.Manager); time.Now().Before(deadline); time.Sleep(guardPoll) {
		if _, under, _ := g.folder.Read(); !under {
			return nil // somebody has started it, and it has settled everything
		}
		if h, err := lock.Read(g.folder.lock()); err == nil && h.PID != g.self.PID && h.Alive() {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	again, err := lock.Try(g.folder.lock(), lock.Own(g.self, lock.StandIn, g.handover.Old.SHA256))
	if again == nil {
		return err
	}
	return errors.Join(g.becomeStandIn(again), releasing(again))
}
