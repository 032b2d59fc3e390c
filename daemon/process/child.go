package process

import (
	"errors"
	"fmt"
	"os"
	"sync"
)

// own makes a child ours to wait for, and nobody else's to reap. The lock is held.
func (t *Table) own(c *Child, reap func() error) {
	c.exited = sync.OnceValues(func() (Exit, error) {
		exit, err := awaitExit(c.id)
		return exit, errors.Join(err, c.closeStdin())
	})
	c.wait = sync.OnceValues(func() (Exit, error) {
		exit, err := c.exited()
		reaped := reap()
		t.disown(c)
		if err = errors.Join(err, reaped); err != nil {
			return Exit{}, fmt.Errorf("cannot wait for %s: %w", c.id, err)
		}
		return exit, nil
	})
	t.spawned[c.id.PID] = c
}

func (t *Table) disown(c *Child) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.spawned[c.id.PID] == c { // the pid may have been used again already
		delete(t.spawned, c.id.PID)
	}
}

func (c *Child) closeStdin() error {
	if c.stdin == nil {
		return nil
	}
	if err := c.stdin.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// Adopt takes up a child that an earlier program of this process has spawned: it is waited for by its owner
// again, and nobody takes it for something that ran away. The error is os.ErrProcessDone when it is no child of
// ours any more, not even a zombie.
func (t *Table) Adopt(id ID, cgroup Cgroup) (*Child, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, _, err := readProc(id.PID)
	if err != nil {
		return nil, fmt.Errorf("cannot take up %s: %w", id, err)
	}
	if !p.Is(id) || p.PPID != os.Getpid() {
		return nil, fmt.Errorf("cannot take up %s: %w", id, os.ErrProcessDone)
	}
	c := &Child{id: p.ID, cgroup: cgroup}
	t.own(c, func() error { return reapOne(id.PID) })
	return c, nil
}
