package process

import "sync"

// passes lets those who want to look at the same time share one pass: a thousand runs that are stopped
// at once would otherwise each read a whole process table.
type passes struct {
	mu      sync.Mutex
	next    *pass      // which has not begun; nil: none is waited for
	running sync.Mutex // one at a time
}

type pass struct {
	cgroups map[Cgroup][]int // those whose members somebody wants to know
	done    chan struct{}
	view    View
	err     error
}

// Scan makes one pass over the process table; for the runs that are named it also reads who is in their
// cgroups. The pass begins after the call, and may be one with that of others. Processes that vanish meanwhile are
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
		s.next, first = &pass{cgroups: map[Cgroup][]int{}, done: make(chan struct{})}, true
	}
	for _, r := range runs {
		if r.Cgroup.Path != "" {
			s.next.cgroups[r.Cgroup] = nil
		}
	}
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
