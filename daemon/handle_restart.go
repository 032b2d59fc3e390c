package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"scv/daemon/restart"
	"scv/internal/failpoint"
	"scv/store"
	"scv/wire"
)

// handleRestart takes on a restart into what is installed at the daemon's own path. The plan is committed, and
// what an unplanned start needs is in place, before the reply leaves.
func (d *Daemon) handleRestart(ctx context.Context, c call, command wire.Command) (wire.DaemonStatus, error) {
	ask := command.(wire.RestartWhenIdleCommand)
	if !d.examining.TryLock() {
		return wire.DaemonStatus{}, wire.Refuse(wire.RestartError, "another request to restart is being examined; ask again in a moment")
	}
	defer d.examining.Unlock()
	plan, err := d.examinedPlan(ctx, c, ask)
	if err != nil {
		return wire.DaemonStatus{}, err
	}
	if err := d.takeOn(ctx, plan, c.who()); err != nil {
		return wire.DaemonStatus{}, err
	}
	return d.status()
}

// examinedPlan is the plan that a request asks for, once nothing speaks against it.
func (d *Daemon) examinedPlan(ctx context.Context, c call, ask wire.RestartWhenIdleCommand) (plan store.Restart, err error) {
	asked, err := d.askedBy(c, ask)
	if err != nil {
		return plan, err
	}
	wait, err := asked.Wait()
	if err != nil {
		return plan, err
	}
	obstacles := d.obstacles(ctx)
	if err := restart.Examine(asked, restart.Release{}, restart.Release{Version: asked.Version}, obstacles); err != nil {
		return plan, err // there is no use in asking the program
	}
	installed, err := restart.In(d.home.Path).Inspect(ctx, d.o.Start.Binary, d.procs)
	if err != nil {
		d.log.Warn("cannot inspect the installed program", "binary", d.o.Start.Binary, "err", err)
		return plan, err
	}
	if err := restart.Examine(asked, d.release(), installed, obstacles); err != nil {
		return plan, err
	}
	commit := installed.Commit
	if asked.Commit != "" {
		commit = asked.Commit
	}
	return store.Restart{
		ID: newID(), Step: store.RestartWaiting, Binary: d.o.Start.Binary, SHA256: installed.SHA256,
		FromVersion: d.o.Version, FromCommit: d.o.Commit, ToVersion: installed.Version, ToCommit: commit, ToSchema: installed.Schema,
		Requester: asked.Requester, Account: asked.Account, Chat: asked.Chat, Asked: d.clock.Now(), MaxWait: wait,
	}, nil
}

// askedBy is a request with who makes it, as the daemon verified it: the outermost live run of this instance
// that the caller is in. What the caller itself says of that is not needed.
func (d *Daemon) askedBy(c call, ask wire.RestartWhenIdleCommand) (restart.Asked, error) {
	asked := restart.Asked{MaxWait: ask.MaxWaitSeconds}
	if ask.Version != nil {
		asked.Version = *ask.Version
	}
	if ask.Commit != nil {
		asked.Commit = *ask.Commit
	}
	for _, handle := range c.peer.Verdict.Handles {
		record, known, err := d.runs.Record(handle)
		if err != nil {
			return asked, err
		}
		if !known || record.State == store.RunEnded {
			continue
		}
		if asked.Requester == "" {
			asked.Requester = handle
		}
		if record.AnswersChat() {
			if chat, err := d.ownersChat(record); err == nil { // else the notify order hears it
				asked.Account, asked.Chat = chat.account, chat.chat
			}
			break
		}
	}
	return asked, nil
}

// obstacles is what keeps this daemon from any restart.
func (d *Daemon) obstacles(ctx context.Context) (o restart.Obstacles) {
	switch folder := filepath.Dir(d.o.Start.Binary); {
	case len(d.o.Args) == 0:
		o.NoGuard = "this daemon was not started in a way that it could repeat"
	case os.Getpid() == 1:
		o.Init = true
	case unix.Access(folder, unix.W_OK) != nil:
		o.Unwritable = fmt.Sprintf("the folder %s of the program cannot be written, so the old release could not be put back", folder)
	default:
		o.NoGuard = d.noWayOutside(ctx)
	}
	return o
}

// lastWait is how long a request waits for the last restart to be cleared away.
const lastWait = 2 * time.Second

// takeOn stores a plan, unless one for the same program is under way. A request that replaces a plan takes its
// place with the asker; the old one ends untold, since nothing came of it.
func (d *Daemon) takeOn(ctx context.Context, plan store.Restart, who string) error {
	select {
	case <-d.proving.ended:
	case <-time.After(lastWait): // also where the plan of it was lost with the store
		return wire.Refuse(wire.RestartError, "another restart is under way already; ask again when it has ended")
	}
	d.planning.Lock()
	defer d.planning.Unlock()
	old, under, err := d.plan()
	if err != nil {
		return err
	}
	keep, err := restart.Merge(old, under, plan.SHA256)
	if err != nil || keep {
		return err
	}
	if _, left, _ := restart.In(d.home.Path).Read(); left && !under { // by one that could not be undone
		if err := d.disagree(); err != nil {
			return err
		}
	}
	if err = d.agree(plan); err == nil {
		err = d.storePlan(ctx, plan, old, under, who)
	}
	switch {
	case err == nil:
		return nil
	case !under:
		err = errors.Join(err, d.disagree())
	}
	return fmt.Errorf("cannot plan a restart: %w", err)
}

// storePlan stores a plan in the place of an old one, if one was under way.
func (d *Daemon) storePlan(ctx context.Context, plan, old store.Restart, under bool, who string) error {
	if err := failpoint.Hit(failpoint.RestartPlan); err != nil {
		return err
	}
	return d.store.Intend(ctx, func(tx *store.Intent) error {
		if under {
			old.Step, old.Told, old.Ended = store.RestartDone, true, d.clock.Now()
			old.Outcome = "Another request took its place."
			if err := tx.EndRestart(old); err != nil {
				return err
			}
		}
		if err := tx.AddJournal("restart_asked", who, plan.ID+" "+plan.ToVersion, nil); err != nil {
			return err
		}
		return tx.PutRestartPlan(plan)
	})
}

// plan is the restart that is under way.
func (d *Daemon) plan() (plan store.Restart, under bool, err error) {
	err = d.store.View(func(v *store.View) error {
		plan, under = v.RestartPlan()
		return nil
	})
	return plan, under, err
}
