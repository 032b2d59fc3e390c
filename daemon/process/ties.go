package process

// Run is what is known of one run when its processes are looked for. Fields that are not known are zero.
type Run struct {
	Leader   ID     // the process that was spawned
	Group    int    // its process group
	Instance string // with Handle: the tag its processes carry
	Handle   string
	Cgroup   Cgroup // its own
	Known    []ID   // processes that were tied to it before: once tied, always tied
}

// How is by what a process is tied to a run.
type How string

const (
	ByLeader How = "leader"      // it is the process that was spawned
	ByGroup  How = "group"       // it is in the run's process group
	ByTag    How = "tag"         // it was started with the run's tag in its environment
	ByCgroup How = "cgroup"      // it was seen in the run's cgroup, or in one below that
	ByParent How = "below"       // another process of the run started it
	BySight  How = "seen before" // it was tied in an earlier pass, and by nothing else now
)

// Evidence is one process of a run and the first of these that ties it.
type Evidence struct {
	Proc
	How How
	Via ID // ByParent: the process it is below
}

// Explain says which live processes are tied to the run, and by what: its leader, the members of its
// group, those that carry its tag, those in its cgroup, everything below any of them, and those known before. The group
// counts only when one of the others, alive or a zombie, is in it: group numbers are used again like pids,
// but never while a member is left. The cgroup counts where the view was made with it. Sorted by pid;
// never pid 1 or ourselves.
func Explain(v View, r Run) []Evidence {
	w := walk{view: v, group: r.Group, ties: map[int]tie{}}
	if own, ok := v.At(v.self); r.Group <= 1 || ok && own.PGID == r.Group {
		w.group = -1 // no group of a run
	}
	if leader, ok := v.Find(r.Leader); ok {
		w.add(tie{how: ByLeader}, leader.PID)
		w.addGroup(leader)
	}
	if r.Handle != "" {
		w.add(tie{how: ByTag}, v.tags[tagged{r.Instance, r.Handle}]...)
	}
	w.add(tie{how: ByCgroup}, v.in(r.Cgroup)...)
	w.spread()
	for _, id := range r.Known {
		if _, ok := v.Find(id); ok {
			w.add(tie{how: BySight}, id.PID)
		}
	}
	w.spread()
	return w.evidence()
}

// Ties are the processes that Explain explains.
func Ties(v View, r Run) (ids []ID) {
	for _, e := range Explain(v, r) {
		ids = append(ids, e.ID)
	}
	return ids
}

// Descendants are the live processes below this one, but none below ourselves: if a run has started us,
// our other children are not its.
func (v View) Descendants(id ID) []Proc {
	w := walk{view: v, group: -1, ties: map[int]tie{id.PID: {}}}
	if _, ok := v.Find(id); ok {
		w.add(tie{how: ByParent}, v.children[id.PID]...)
	}
	w.spread()
	return v.live(w.found)
}

type tie struct {
	how How
	via ID
}

// walk spreads from the processes it is given to all that are tied through them.
type walk struct {
	view  View
	group int
	ties  map[int]tie
	found []int
	done  int // how many of found were spread from
}

// add ties processes. The first tie of each stays.
func (w *walk) add(by tie, pids ...int) {
	for _, pid := range pids {
		if _, tied := w.ties[pid]; pid > 1 && pid != w.view.self && !tied {
			w.ties[pid] = by
			w.found = append(w.found, pid)
		}
	}
}

// addGroup ties the members of the run's group, of which p is one.
func (w *walk) addGroup(p Proc) {
	if p.PGID == w.group {
		w.add(tie{how: ByGroup}, w.view.groups[w.group]...)
	}
}

// spread follows every tie to its end.
func (w *walk) spread() {
	for ; w.done < len(w.found); w.done++ { // found grows under way
		p := w.view.procs[w.found[w.done]]
		w.addGroup(p)
		w.add(tie{how: ByParent, via: p.ID}, w.view.children[p.PID]...)
	}
}

func (w *walk) evidence() (all []Evidence) {
	for _, p := range w.view.live(w.found) {
		t := w.ties[p.PID]
		all = append(all, Evidence{Proc: p, How: t.how, Via: t.via})
	}
	return all
}
