package delegation

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"

	"scv/daemon/agent"
	"scv/daemon/process"
	"scv/store"
)

// NewHandle names a run of agent: <agent>-<6 hex>.
func NewHandle(agent string) string {
	var b [3]byte
	rand.Read(b[:])
	return agent + "-" + hex.EncodeToString(b[:])
}

// Start records the run, spawns it, records its leader, and only then tells it its task. about names
// whose run it is and where it stands (Place); Start fills in the rest. The caller waits on the run and then calls Reported. After
// an error there is no run, and nothing to report.
func (k *Keeper) Start(ctx context.Context, handle string, about store.Delegation, run agent.Run) (*Run, error) {
	return k.start(ctx, newRun(k, handle), about, run)
}

func (k *Keeper) start(ctx context.Context, r *Run, about store.Delegation, run agent.Run) (*Run, error) {
	if err := k.checkDepth(about); err != nil {
		return nil, err
	}
	about.Owner, about.Cwd = store.ProcessID(k.o.Self), run.Dir
	about.State, about.Started = store.RunStarting, k.o.Clock.Now()
	about.Cgroup = store.Cgroup(k.o.Cgroups.For(k.o.Instance, r.Handle)) // on record before it is made
	r.began = about.Started
	k.adopt(r) // before it is on record, so that no pass takes it for an orphan
	if err := r.begin(ctx, about, run); err != nil {
		if err := k.Reported(context.WithoutCancel(ctx), r.Handle); err != nil {
			k.o.Log.Error("cannot remove a run's record; a later pass does", "handle", r.Handle, "err", err)
		}
		return nil, err
	}
	return r, nil
}

// begin takes the steps of a start in their order.
func (r *Run) begin(ctx context.Context, about store.Delegation, run agent.Run) error {
	k := r.keeper
	child, err := r.spawn(ctx, about, run)
	if err != nil {
		r.never()
		return err
	}
	k.o.Log.Info("run started", "handle", r.Handle, "agent", about.Agent, "pid", child.ID().PID)
	r.follow(child, run.Stdin)
	k.step("spawned")
	if err := k.alive(ctx, r.Handle, child); err != nil {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		return errors.Join(err, r.Stop(stopping, "because its record could not be written"))
	}
	k.step("live")
	close(r.recorded)
	return nil
}

// spawn starts the agent once the run is on record, unless it was stopped by then.
func (r *Run) spawn(ctx context.Context, about store.Delegation, run agent.Run) (*process.Child, error) {
	k := r.keeper
	if err := k.put(ctx, r.Handle, about); err != nil {
		return nil, err
	}
	k.step("starting")
	printed, err := k.create(r.Handle)
	if err != nil {
		return nil, err
	}
	r.printed, r.condense = printed, run.Condense
	if why := r.Stopped(); why != "" {
		return nil, fmt.Errorf("cannot start %q: it was stopped %s", r.Handle, why)
	}
	out, done, err := r.stdout()
	if err != nil {
		return nil, err
	}
	defer done()
	child, err := k.o.Procs.Spawn(process.Spec{
		Path: run.Path, Args: run.Args, Env: run.Env, Dir: run.Dir,
		Stdout: out, Stderr: printed.errs, StdinPipe: true,
		Cgroup: process.Cgroup(about.Cgroup),
	})
	if err != nil {
		return nil, fmt.Errorf("cannot start agent %q: %w", run.Path, err)
	}
	return child, nil
}

// Reported ends a run's life on record, after its report is stored. A run of which something is left
// stays on record without an owner, so that passes stop it like any orphan.
func (k *Keeper) Reported(ctx context.Context, handle string) error {
	k.mu.Lock()
	run, ours := k.own[handle]
	delete(k.own, handle)
	k.mu.Unlock()
	if ours {
		run.close()
	}
	if ours && !run.gone() {
		return nil
	}
	_, err := k.forget(ctx, handle)
	return err
}

// forget removes a run's record, if there is one, and then what it printed.
func (k *Keeper) forget(ctx context.Context, handle string) (removed bool, err error) {
	err = k.o.Store.Observe(ctx, func(tx *store.Observation) error {
		_, removed = tx.Delegation(handle)
		return tx.DeleteDelegation(handle)
	})
	if err != nil {
		return false, fmt.Errorf("cannot remove record of %q: %w", handle, err)
	}
	return removed, k.removeOutput(handle)
}

func (k *Keeper) put(ctx context.Context, handle string, d store.Delegation) error {
	err := k.o.Store.Observe(ctx, func(tx *store.Observation) error { return tx.PutDelegation(handle, d) })
	if err != nil {
		return fmt.Errorf("cannot record run %q: %w", handle, err)
	}
	return nil
}

// alive records a run's leader. A run that has ended by then stays ended.
func (k *Keeper) alive(ctx context.Context, handle string, leader *process.Child) error {
	err := k.o.Store.Observe(ctx, func(tx *store.Observation) error {
		d, known := tx.Delegation(handle)
		if !known {
			return store.ErrMissing
		}
		d.Leader, d.Cgroup = store.ProcessID(leader.ID()), store.Cgroup(leader.Cgroup())
		if d.State == store.RunStarting {
			d.State = store.RunLive
		}
		return tx.PutDelegation(handle, d)
	})
	if err != nil {
		return fmt.Errorf("cannot record run %q: %w", handle, err)
	}
	return nil
}

func (k *Keeper) adopt(r *Run) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.own[r.Handle] = r
	k.starts++
}
