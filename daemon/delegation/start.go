package delegation

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

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

// Environment is what every process of the run must carry: the tag it is known by, its depth, and
// where its daemon is.
func (k *Keeper) Environment(session, handle string) map[string]string {
	parent := k.o.Instance + "/" + session + "/" + handle
	if k.o.Parent != "" {
		parent = k.o.Parent + ";" + parent
	}
	return map[string]string{
		"SCV_PARENT": parent, "SCV_DELEGATION_DEPTH": fmt.Sprint(k.o.Depth + 1), "SCV_HOME": k.o.Home,
	}
}

// Start records the run, spawns it, records its leader, and only then tells it its task. about names
// whose run it is; Start fills in the rest. The caller waits on the run and then calls Reported.
func (k *Keeper) Start(ctx context.Context, handle string, about store.Delegation, run agent.Run) (*Run, error) {
	if k.o.Depth+1 > k.o.MaxDepth {
		return nil, fmt.Errorf("cannot start %q: delegations may nest %d deep and this would be level %d",
			handle, k.o.MaxDepth, k.o.Depth+1)
	}
	about.Depth, about.Owner, about.Cwd = k.o.Depth+1, store.ProcessID(k.o.Self), run.Dir
	about.State, about.Started = store.RunStarting, k.o.Clock.Now()
	if err := k.put(ctx, handle, about); err != nil {
		return nil, err
	}
	child, err := k.spawn(handle, run)
	if err != nil {
		return nil, k.forgetAfter(ctx, handle, err)
	}
	r := newRun(k, handle, child, run.Stdin)
	k.adopt(r)
	about.State, about.Leader = store.RunLive, store.ProcessID(child.ID())
	if err := k.put(ctx, handle, about); err != nil {
		_ = r.Stop(context.WithoutCancel(ctx), "its record could not be written")
		return nil, k.forgetAfter(ctx, handle, err)
	}
	close(r.recorded)
	return r, nil
}

// spawn starts the agent with its output in files, so that it does not depend on our pipes.
func (k *Keeper) spawn(handle string, run agent.Run) (*process.Child, error) {
	folder := k.folder(handle)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make run folder %q: %w", folder, err)
	}
	out, err := create(filepath.Join(folder, "out"))
	if err != nil {
		return nil, err
	}
	defer out.Close()
	errs, err := create(filepath.Join(folder, "err"))
	if err != nil {
		return nil, err
	}
	defer errs.Close()
	child, err := k.o.Procs.Spawn(process.Spec{
		Path: run.Path, Args: run.Args, Env: run.Env, Dir: run.Dir,
		Stdout: out, Stderr: errs, StdinPipe: true,
	})
	if err != nil {
		return nil, fmt.Errorf("cannot start agent %q: %w", run.Path, err)
	}
	return child, nil
}

func create(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot make output file %q: %w", path, err)
	}
	return f, nil
}

// Reported ends a run's life on record, after its report is stored.
func (k *Keeper) Reported(ctx context.Context, handle string) error {
	k.mu.Lock()
	delete(k.own, handle)
	k.mu.Unlock()
	return k.forget(ctx, handle)
}

func (k *Keeper) forgetAfter(ctx context.Context, handle string, cause error) error {
	if err := k.Reported(context.WithoutCancel(ctx), handle); err != nil {
		k.o.Log.Error("cannot remove a run's record; a later pass does", "handle", handle, "err", err)
	}
	return cause
}

func (k *Keeper) forget(ctx context.Context, handle string) error {
	err := k.o.Store.Observe(ctx, func(tx *store.Observation) error { return tx.DeleteDelegation(handle) })
	if err != nil {
		return fmt.Errorf("cannot remove record of %q: %w", handle, err)
	}
	if err := os.RemoveAll(k.folder(handle)); err != nil {
		return fmt.Errorf("cannot remove output of %q: %w", handle, err)
	}
	return nil
}

func (k *Keeper) put(ctx context.Context, handle string, d store.Delegation) error {
	err := k.o.Store.Observe(ctx, func(tx *store.Observation) error { return tx.PutDelegation(handle, d) })
	if err != nil {
		return fmt.Errorf("cannot record run %q: %w", handle, err)
	}
	return nil
}

func (k *Keeper) adopt(r *Run) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.own[r.Handle] = r
}

// readCapped reads at most limit bytes of a file and tells whether there was more.
func readCapped(path string, limit int64) ([]byte, bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if int64(len(b)) > limit {
		return b[:limit], true, err
	}
	return b, false, err
}
