package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// How a run is stopped: TERM, up to 2 s, KILL. A killed process is gone at once unless it is stuck in
// the kernel; 2 s more tell.
const (
	termGrace = 2 * time.Second
	killGrace = 2 * time.Second
	firstPoll = time.Millisecond // each wait looks half as often as the one before it,
	lastPoll  = 64 * time.Millisecond
)

// errGrace is the ordinary end of a wait, as opposed to that of the caller's context.
var errGrace = errors.New("the grace is over")

// Stop ends every process of a run: TERM to its group, up to 2 s, KILL, then everything tied to it
// outside the group likewise; a cgroup of its own is killed whole, and removed. It returns the proven processes
// that are still alive, none when all is well. Before each signal identities are proven afresh; a group that
// nothing proves ours is left alone, and so is a cgroup that we are in.
//
// It takes at most about 10 s, and returns early with the survivors and ctx's error when ctx ends. A run
// with a pid or group that can belong to no run is refused before anything is signalled. Many calls may
// run at once.
func (t *Table) Stop(ctx context.Context, run Run) (survivors []ID, err error) {
	if err := checkRun(run); err != nil {
		return nil, err
	}
	s := &stopping{table: t, run: run}
	s.run.Known = slices.Clone(run.Known)
	if err := s.look(); err != nil {
		return nil, err
	}
	inGroup := func(p Proc) bool { return run.Group != 0 && p.PGID == run.Group }
	anywhere := func(Proc) bool { return true }
	err = s.end(ctx, inGroup, s.signalGroup)
	if err == nil {
		err = s.end(ctx, anywhere, s.signalAll)
	}
	if err == nil {
		err = s.clear(ctx)
	}
	t.ReapAdopted(s.view)
	for _, p := range s.tied(anywhere) {
		survivors = append(survivors, p.ID)
	}
	return survivors, err
}

// checkRun refuses a run that names what must never be signalled.
func checkRun(run Run) error {
	for _, id := range append([]ID{run.Leader}, run.Known...) {
		if id == (ID{}) {
			continue
		}
		if err := checkTarget(id.PID); err != nil {
			return err
		}
	}
	return checkGroup(run.Group)
}

// checkGroup refuses a group that must never be signalled; 0 is no group.
func checkGroup(group int) error {
	switch {
	case group == 0:
		return nil
	case group == unix.Getpgrp() || group == os.Getpid():
		return fmt.Errorf("cannot signal group %d: it is our own", group)
	case group < 0 || group == 1 || group > maxPID:
		return fmt.Errorf("cannot signal group %d: not a group of a run; the record is damaged", group)
	}
	return nil
}

// stopping is one Stop under way.
type stopping struct {
	table *Table
	run   Run // Known grows with each look
	view  View
}

// look takes a fresh view and adds what it ties to the run.
func (s *stopping) look() error {
	view, err := s.table.Scan(s.run)
	if err != nil {
		return err
	}
	s.view = view
	for _, id := range Ties(view, s.run) {
		if !slices.ContainsFunc(s.run.Known, id.Is) {
			s.run.Known = append(s.run.Known, id)
		}
	}
	return nil
}

// tied are the live processes of the run that are wanted.
func (s *stopping) tied(wanted func(Proc) bool) []Proc {
	var procs []Proc
	for _, id := range Ties(s.view, s.run) {
		if p, _ := s.view.Find(id); wanted(p) {
			procs = append(procs, p)
		}
	}
	return procs
}

// end brings the wanted processes down, first by TERM and then by KILL. It is no error if some survive.
func (s *stopping) end(ctx context.Context, wanted func(Proc) bool, send func([]Proc, unix.Signal)) error {
	if left := s.tied(wanted); len(left) > 0 {
		send(left, unix.SIGTERM)
		if err := s.await(ctx, wanted, termGrace, func([]Proc) {}); err != nil {
			return err
		}
	}
	kill := func(left []Proc) { send(left, unix.SIGKILL) }
	if left := s.tied(wanted); len(left) > 0 {
		kill(left)
		return s.await(ctx, wanted, killGrace, kill) // again: some may have been born meanwhile
	}
	return nil
}

// await waits until none of the wanted is left, or the limit has passed. Whenever those it knew of are
// gone it looks for others, which again is told of.
func (s *stopping) await(ctx context.Context, wanted func(Proc) bool, limit time.Duration, again func([]Proc)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errGrace)
	defer cancel()
	for left := s.tied(wanted); len(left) > 0; {
		if over := poll(ctx, func() bool { return !anyAlive(left) }); over {
			err := s.look() // who is left, also when we were told to give up
			if cause := context.Cause(ctx); cause != errGrace {
				err = errors.Join(fmt.Errorf("cannot stop the run: %w", cause), err)
			}
			return err
		}
		if err := s.look(); err != nil {
			return err
		}
		left = s.tied(wanted)
		again(left)
	}
	return nil
}

// poll asks again and again, ever more rarely, and reports whether ctx ended first.
func poll(ctx context.Context, ok func() bool) (over bool) {
	for wait := firstPoll; ; wait = min(2*wait, lastPoll) {
		select {
		case <-ctx.Done():
			return true
		case <-time.After(wait):
		}
		if ok() {
			return false
		}
	}
}

// clear kills what is in the run's cgroup, seen or not, and removes it when it is empty. A cgroup that
// cannot be removed then is left for the next start.
func (s *stopping) clear(ctx context.Context) error {
	c := s.run.Cgroup
	if !c.ours() {
		return nil
	}
	late := c.populated() // somebody was born after our last look, or has moved in
	err := c.kill()
	if late {
		ctx, cancel := context.WithTimeoutCause(ctx, killGrace, errGrace)
		defer cancel()
		poll(ctx, func() bool { return !c.populated() })
		err = errors.Join(err, s.look())
	}
	if !c.populated() {
		_ = c.remove()
		return nil
	}
	return err
}

// anyAlive stops at the first one that lives, so that waiting for many costs little.
func anyAlive(procs []Proc) bool {
	return slices.ContainsFunc(procs, func(p Proc) bool { return p.ID.Alive() })
}

// signalAll signals processes one by one. One that cannot be signalled is found alive later. What is in
// the cgroup is killed all at once: those that fork all the time are not caught one by one.
func (s *stopping) signalAll(procs []Proc, sig unix.Signal) {
	if sig == unix.SIGKILL && s.run.Cgroup.ours() {
		_ = s.run.Cgroup.kill()
	}
	for _, p := range procs {
		_ = signalProcess(p.ID, sig)
	}
}

// signalGroup signals the group through one of its proven members, the leader where it is still there.
func (s *stopping) signalGroup(members []Proc, sig unix.Signal) {
	if leader, ok := s.view.Find(s.run.Leader); ok && leader.PGID == s.run.Group {
		members = append([]Proc{leader}, members...) // a zombie too keeps the group's number
	}
	for _, p := range members {
		if signalGroup(p.ID, s.run.Group, sig) == nil {
			return
		}
	}
}
