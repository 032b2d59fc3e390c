package process

import (
	"slices"
	"strings"
	"sync"
)

// Proc is one process as a scan saw it.
type Proc struct {
	ID
	PPID, PGID, SID int
	State           byte   // as in ps: R S D T Z …
	Name            string // of its program, as the kernel gives it: at most 15 bytes, of its own choice
	Threads         int    // that still run or end; 0 when unknown
	Tag             string // SCV_PARENT of its initial environment; "" also when it may not be read
}

// Zombie reports a process that has ended and waits to be reaped. It counts as gone. The state is that
// of the first thread: while others run, the process lives, whatever became of the first.
func (p Proc) Zombie() bool { return (p.State == 'Z' || p.State == 'X') && p.Threads <= 1 }

// View is what one pass over the process table saw. It never changes and may be shared.
type View struct {
	self     int
	procs    map[int]Proc
	groups   map[int][]int      // pgid → pids
	children map[int][]int      // ppid → pids
	tags     map[tagged][]int   // run → pids, by whole components of their tags
	cgroups  map[string]members // by folder; nil when nobody asked
	reap     *sync.Once         // of the zombies that it shows
}

type tagged struct{ instance, handle string }

// members are the processes in the cgroup of a run, or below it.
type members struct {
	inode uint64
	pids  []int
}

// in are the processes in a cgroup, if it is the very one of the run.
func (v View) in(c Cgroup) []int {
	m := v.cgroups[c.Path]
	if c.Inode != 0 && c.Inode != m.inode {
		return nil
	}
	return m.pids
}

// NewView makes a view of procs as the process self sees them. Scan uses it, and so do tests of rules over views.
func NewView(self int, procs []Proc) View {
	v := View{
		self: self, procs: make(map[int]Proc, len(procs)),
		groups: map[int][]int{}, children: map[int][]int{}, tags: map[tagged][]int{}, reap: &sync.Once{},
	}
	for _, p := range procs {
		v.procs[p.PID] = p
		v.groups[p.PGID] = append(v.groups[p.PGID], p.PID)
		v.children[p.PPID] = append(v.children[p.PPID], p.PID)
		for _, run := range runsOf(p.Tag) {
			v.tags[run] = append(v.tags[run], p.PID)
		}
	}
	return v
}

// runsOf takes a tag apart: `<instance>/<session>/<handle>` joined by `;`. A component of any other
// shape names no run, and a run named twice counts once.
func runsOf(tag string) []tagged {
	if tag == "" {
		return nil
	}
	var runs []tagged
	for component := range strings.SplitSeq(tag, ";") {
		part := strings.Split(component, "/")
		if len(part) != 3 {
			continue
		}
		if run := (tagged{part[0], part[2]}); !slices.Contains(runs, run) {
			runs = append(runs, run)
		}
	}
	return runs
}

// Find is the process with this identity, zombies included.
func (v View) Find(id ID) (Proc, bool) {
	p, ok := v.procs[id.PID]
	return p, ok && p.Is(id)
}

// At is the process that had this pid, zombies included.
func (v View) At(pid int) (Proc, bool) {
	p, ok := v.procs[pid]
	return p, ok
}

// Live reports whether this very process ran when the view was taken.
func (v View) Live(id ID) bool {
	p, ok := v.Find(id)
	return ok && !p.Zombie()
}

// Members are the live processes of a group, whoever they are: a group number alone proves nothing.
func (v View) Members(pgid int) []Proc { return v.live(v.groups[pgid]) }

// Tagged are the live processes whose initial environment names this run of this instance.
func (v View) Tagged(instance, handle string) []Proc {
	return v.live(v.tags[tagged{instance, handle}])
}

// Handles are the runs of this instance that the tags of live processes name, sorted. Our own tag does not
// count: it names the runs that we are in.
func (v View) Handles(instance string) (handles []string) {
	another := func(p Proc) bool { return p.PID != v.self }
	for run, pids := range v.tags {
		if run.instance == instance && run.handle != "" && slices.ContainsFunc(v.live(pids), another) {
			handles = append(handles, run.handle)
		}
	}
	slices.Sort(handles)
	return handles
}

// HandlesIn are the runs of this instance that one tag names.
func HandlesIn(tag, instance string) (handles []string) {
	for _, run := range runsOf(tag) {
		if run.instance == instance {
			handles = append(handles, run.handle)
		}
	}
	return handles
}

func (v View) live(pids []int) []Proc {
	var live []Proc
	for _, pid := range pids {
		if p := v.procs[pid]; !p.Zombie() {
			live = append(live, p)
		}
	}
	slices.SortFunc(live, func(a, b Proc) int { return compareIDs(a.ID, b.ID) })
	return live
}

// ChildrenOf are the children of a process, zombies too.
func (v View) ChildrenOf(id ID) (children []Proc) {
	if _, ok := v.Find(id); !ok {
		return nil
	}
	for _, pid := range v.children[id.PID] {
		children = append(children, v.procs[pid])
	}
	return children
}
