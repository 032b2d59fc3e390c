package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"scv/internal/failpoint"
)

// tagVariable names the runs a process belongs to, in its environment.
const tagVariable = "SCV_PARENT"

// Spec is what to start. Nothing of ours is inherited: not the environment, no descriptor, no terminal,
// no ignored or blocked signal.
type Spec struct {
	Path      string   // absolute
	Args      []string // after the program's name
	Env       []string // exactly this; nil is an empty environment
	Dir       string
	Stdout    *os.File // nil: /dev/null
	Stderr    *os.File // nil: /dev/null
	StdinPipe bool     // a pipe, see Child.Stdin; else /dev/null
	Cgroup    Cgroup   // to make for it and to put it into; the zero value: it stays where we are
}

// Exit is how a child ended.
type Exit struct {
	Code   int    // -1 when a signal ended it
	Signal string // as SIGKILL; "" when it exited by itself
}

// Child is a process that was spawned here. Its owner must Wait for it.
type Child struct {
	id     ID
	cgroup Cgroup
	stdin  *os.File
	exited func() (Exit, error)
	wait   func() (Exit, error)
}

// ID is the child's identity. Its pid is also its process group and its session.
func (c *Child) ID() ID { return c.id }

// Cgroup is the cgroup that was made for the child, none if it could not be made. Stop removes it.
func (c *Child) Cgroup() Cgroup { return c.cgroup }

// Stdin is the pipe to the child, nil when none was asked for. It has write deadlines (os.File), and a
// child that does not read blocks a writer without one. Wait closes it.
func (c *Child) Stdin() io.WriteCloser {
	if c.stdin == nil {
		return nil
	}
	return c.stdin
}

// Wait waits until the child itself has ended, whatever processes it leaves behind, and reaps it. It
// has no limit of its own: Stop ends it. All callers get the same answer.
func (c *Child) Wait() (Exit, error) { return c.wait() }

// Exited waits as Wait does and leaves the child a zombie, for Wait to reap: so who is to write down how it
// ended can be replaced by another program before that, which then learns it again (Adopt).
func (c *Child) Exited() (Exit, error) { return c.exited() }

// Spawn starts a program as the leader of a session and a process group of its own. A new session has no
// terminal: what shares ours could read what a person types at it, and write as if it were us.
func (t *Table) Spawn(spec Spec) (*Child, error) {
	if !filepath.IsAbs(spec.Path) {
		return nil, fmt.Errorf("cannot start %q: the path must be absolute", spec.Path)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot start %q: %w", spec.Path, err)
	}
	defer null.Close()
	in, stdin := null, (*os.File)(nil)
	if spec.StdinPipe {
		if in, stdin, err = os.Pipe(); err != nil {
			return nil, fmt.Errorf("cannot start %q: %w", spec.Path, err)
		}
		defer in.Close()
	}
	files := []*os.File{in, orNull(spec.Stdout, null), orNull(spec.Stderr, null)}
	at := enter(spec.Cgroup)
	defer at.close()
	c, err := t.start(spec, files, stdin, at)
	if err != nil {
		at.leave()
		if stdin != nil {
			stdin.Close()
		}
		return nil, fmt.Errorf("cannot start %q: %w", spec.Path, err)
	}
	return c, nil
}

func orNull(f, null *os.File) *os.File {
	if f == nil {
		return null
	}
	return f
}

// start forks under the lock, so that the child is known before a sweep can see it.
func (t *Table) start(spec Spec, files []*os.File, stdin *os.File, at *place) (*Child, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var proc *os.Process
	if err := failpoint.Hit(failpoint.SpawnBefore); err != nil {
		return nil, err
	}
	fork := func() (err error) {
		proc, err = os.StartProcess(spec.Path, append([]string{spec.Path}, spec.Args...), &os.ProcAttr{
			Dir:   spec.Dir,
			Env:   append([]string{}, spec.Env...), // nil would mean ours
			Files: files,
			Sys:   at.attributes(),
		})
		return err
	}
	err := withDefaultSignals(fork)
	if err != nil && at.entered() { // not every cgroup takes a child in; what is wrong with the program shows again
		at.leave()
		err = withDefaultSignals(fork)
	}
	if err != nil {
		return nil, err
	}
	id, err := Lookup(proc.Pid) // it cannot be gone before it is reaped
	if err = errors.Join(err, failpoint.Hit(failpoint.SpawnAfter)); err != nil {
		_ = proc.Kill()
		_, _ = proc.Wait()
		return nil, err
	}
	c := &Child{id: id, cgroup: at.cgroup, stdin: stdin}
	t.own(c, func() error { return reap(proc) })
	return c, nil
}

// withDefaultSignals runs start while no signal is ignored or blocked in a way that a child would
// inherit: under nohup SIGHUP is ignored, behind `&` in a script SIGINT, and an agent could then not be
// interrupted. While a signal is notified the runtime has a handler of its own, and a new program
// starts with the default. The caller holds the table's lock; the program's own signal.Notify calls
// come before its first spawn.
func withDefaultSignals(start func() error) error {
	if ignored := ignoredSignals(); len(ignored) > 0 {
		signal.Notify(make(chan os.Signal, 1), ignored...) // what arrives is dropped, as before
		defer signal.Ignore(ignored...)                    // also undoes the line above
	}
	return withOpenMask(start)
}

// lastSignal is the largest that has a name. The real-time signals above are the runtime's to handle.
const lastSignal = 31
