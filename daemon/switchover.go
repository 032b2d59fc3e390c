package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"

	"scv/daemon/config"
	"scv/daemon/restart"
	"scv/internal/failpoint"
	"scv/internal/layout"
	"scv/store"
	"scv/wire"
)

// agree writes down the hand-over of a plan and keeps the running program, before the plan itself is stored:
// from now on a start with the new release is guarded, also one after a crash. An agreement that was not
// begun is replaced.
func (d *Daemon) agree(plan store.Restart) error {
	h, err := d.agreement(plan)
	if err != nil {
		return err
	}
	return restart.In(d.home.Path).Agree(h)
}

// disagree forgets the hand-over of a plan that has ended before it had begun.
func (d *Daemon) disagree() error { return restart.In(d.home.Path).End() }

// switchOver goes over to the release of a plan whose time has come. An error says why that cannot be, and
// nothing has changed then. Otherwise it returns when ctx ends, which it brings about: the plan is ended by
// the release that serves next.
func (d *Daemon) switchOver(ctx context.Context, plan store.Restart) error {
	folder := restart.In(d.home.Path)
	h, err := d.agreed(plan)
	if err != nil {
		return err
	}
	mark, err := h.Installed()
	if err != nil { // before a copy is made of what nobody wants
		return err
	}
	if err := folder.Try(ctx, h, d.procs, d.o.Environ, d.copyTo); err != nil {
		return err
	}
	if err := d.begin(ctx, plan); err != nil {
		return err
	}
	if err := folder.NoteAccounts(d.connected()); err != nil {
		return err
	}
	if err := restart.StartGuard(ctx, folder, d.procs, d.launch(), d.world()); err != nil {
		return err
	}
	if !h.Unchanged(mark) {
		return restart.ErrReplaced
	}
	select {
	case d.leaving <- departure{handover: h, mark: mark}:
	default:
		return errors.New("the daemon is going over to another release already")
	}
	<-ctx.Done()
	return nil
}

// agreed is the hand-over of a plan, made again where it is lost.
func (d *Daemon) agreed(plan store.Restart) (restart.Handover, error) {
	d.planning.Lock()
	defer d.planning.Unlock()
	folder := restart.In(d.home.Path)
	h, under, err := folder.Read()
	if err != nil || under && h.Plan == plan.ID {
		return h, err
	}
	if err := d.agree(plan); err != nil {
		return h, err
	}
	h, _, err = folder.Read()
	return h, err
}

// begin stores that the time of a plan has come: from now on no other can take its place.
func (d *Daemon) begin(ctx context.Context, plan store.Restart) error {
	if err := failpoint.Hit(failpoint.RestartSwitching); err != nil {
		return err
	}
	d.planning.Lock()
	defer d.planning.Unlock()
	plan.Step = store.RestartSwitching
	return d.store.Intend(ctx, func(tx *store.Intent) error {
		if now, under := tx.RestartPlan(); !under || now.ID != plan.ID {
			return errors.New("another request has taken its place")
		}
		return tx.PutRestartPlan(plan)
	})
}

// copyTo makes a home in which a release can be tried: the settings and a copy of the store, nothing else.
func (d *Daemon) copyTo(home string) error {
	if err := d.store.Snapshot(context.Background(), home+"/"+layout.Store); err != nil {
		return err
	}
	text, err := os.ReadFile(d.home.join(config.Name))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.WriteFile(home+"/"+config.Name, text, 0o600)
}

// connected are the accounts whose platform is reached.
func (d *Daemon) connected() (ids []string) {
	for _, h := range d.accounts.Health() {
		if h.State == wire.Connected {
			ids = append(ids, h.ID)
		}
	}
	return ids
}

// world is how this process was started.
func (d *Daemon) world() restart.World {
	return restart.World{Args: d.o.Args, Environ: d.o.Environ, Stderr: d.o.Stderr, Build: d.release()}
}

func (d *Daemon) release() restart.Release {
	return restart.Release{Version: d.o.Version, Commit: d.o.Commit, Schema: d.o.Schema}
}

// agreement is the hand-over of a plan.
func (d *Daemon) agreement(plan store.Restart) (restart.Handover, error) {
	if len(d.o.Args) == 0 {
		return restart.Handover{}, errors.New("nobody said how this daemon was started, so it cannot be started again")
	}
	dir, err := os.Getwd()
	if err != nil {
		return restart.Handover{}, fmt.Errorf("cannot tell where this daemon runs: %w", err)
	}
	h := restart.Handover{
		Plan: plan.ID, Binary: plan.Binary, Link: d.o.Link, Args: d.o.Args, Dir: dir, Manager: restart.Manager(d.o.Getenv),
		Old: d.release(),
		New: restart.Release{Version: plan.ToVersion, Commit: plan.ToCommit, Schema: plan.ToSchema, SHA256: plan.SHA256},
	}
	h.Old.SHA256, err = restart.RunningHash()
	return h, err
}

// endPlan keeps a plan as its outcome.
func (d *Daemon) endPlan(tx *store.Intent, plan store.Restart, updated bool, why string) error {
	plan.Updated = updated
	plan.Outcome = restart.Sentence(plan, why)
	plan.Step, plan.Ended = store.RestartDone, d.clock.Now()
	return tx.EndRestart(plan)
}
