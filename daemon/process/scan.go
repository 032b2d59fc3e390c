package process

import (
	"slices"
	"sync"
)

// passes lets those who want to look at the same time share one pass: a thousand runs that are stopped
// at once would otherwise each read a whole process table.
type passes struct {
	mu      sync.Mutex
	next    *pass      // which has not begun; nil: none is waited for
	running sync.Mutex // one at a time
}

type pass struct {
	callers int
	cgroups bool // somebody wants to know who is in which
	done    chan struct{}
	view    View
	err     error
}

// Scan makes one pass over the process table; it also reads which cgroups processes are in, if one of the runs
// has a cgroup, each once: to be born in a cgroup ties for good. The pass begins after the call, and may be one with that of others. Processes that vanish meanwhile are
// left out. It reads the environments of our own user only, each once per program (a process may overwrite its
// own afterwards; the tag seen first then stays).
func (t *Table) Scan(runs ...Run) (View, error) {
	p, first := t.passes.join(runs)
	if first {
		t.passes.running.Lock()
		t.passes.begin(p)
		p.view, p.err = t.look(p.cgroups)
		t.passes.running.Unlock()
		close(p.done)
	}
	<-p.done
	return p.view, p.err
}

// join adds wishes to the next pass. The first one makes it.
func (s *passes) join(runs []Run) (p *pass, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next, first = &pass{done: make(chan struct{})}, true
	}
	s.next.callers++
	s.next.cgroups = s.next.cgroups || slices.ContainsFunc(runs, func(r Run) bool { return r.Cgroup.Path != "" })
	return s.next, first
}

// begin closes a pass to newcomers: what they want to see may have happened since.
func (s *passes) begin(p *pass) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == p {
		s.next = nil
	}
}
