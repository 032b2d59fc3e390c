package process

// Run is what is known of one run when its processes are looked for. Fields that are not known are zero.
type Run struct {
	Leader   ID     // the process that was spawned
	Group    int    // its process group
	Instance string // with Handle: the tag its processes carry
	Handle   string
	Known    []ID // processes that were tied to it before: once tied, always tied
}

// Ties are the live processes tied to the run: its leader, those known before, those that carry its
// tag, everything below any of them, and the members of its group. The group counts only when one of
// the others, alive or a zombie, is in it: group numbers are used again like pids, but never while a
// member is left. Sorted by pid; never pid 1 or ourselves.
func Ties(v View, r Run) []ID {
	w := walk{view: v, group: r.Group, seen: map[int]bool{}}
	if own, ok := v.At(v.self); r.Group <= 1 || ok && own.PGID == r.Group {
		w.group = -1 // no group of a run
	}
	for _, id := range append([]ID{r.Leader}, r.Known...) {
		if _, ok := v.Find(id); ok {
			w.add(id.PID)
		}
	}
	if r.Handle != "" {
		w.add(v.tags[tagged{r.Instance, r.Handle}]...)
	}
	var ids []ID
	for _, p := range w.spread() {
		ids = append(ids, p.ID)
	}
	return ids
}

// Descendants are the live processes below this one, but none below ourselves: if a run has started us,
// our other children are not its.
func (v View) Descendants(id ID) []Proc {
	w := walk{view: v, group: -1, seen: map[int]bool{id.PID: true}}
	if _, ok := v.Find(id); ok {
		w.add(v.children[id.PID]...)
	}
	return w.spread()
}

// walk spreads from the processes it is given to all that are tied through them.
type walk struct {
	view  View
	group int
	seen  map[int]bool
	found []int
}

func (w *walk) add(pids ...int) {
	for _, pid := range pids {
		if pid > 1 && pid != w.view.self && !w.seen[pid] {
			w.seen[pid] = true
			w.found = append(w.found, pid)
		}
	}
}

// spread follows every tie to its end.
func (w *walk) spread() []Proc {
	for i := 0; i < len(w.found); i++ { // found grows under way
		p := w.view.procs[w.found[i]]
		w.add(w.view.children[p.PID]...)
		if p.PGID == w.group {
			w.add(w.view.groups[w.group]...)
		}
	}
	return w.view.live(w.found)
}
