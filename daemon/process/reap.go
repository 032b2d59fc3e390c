package process

import "golang.org/x/sys/unix"

// Adopted are the live children of ours that were not spawned here: what a run left behind and the
// kernel gave to us as its subreaper.
func (t *Table) Adopted(v View) []Proc {
	t.mu.Lock()
	defer t.mu.Unlock()
	var adopted []Proc
	for _, p := range v.live(v.children[v.self]) {
		if c := t.spawned[p.PID]; c == nil || !c.id.Is(p.ID) {
			adopted = append(adopted, p)
		}
	}
	return adopted
}

// ReapAdopted reaps the zombies of a view that are our children but were not spawned here, each by its
// pid, and names them. The owner of the table calls it in each of its passes. Of those that share a view,
// one reaps.
func (t *Table) ReapAdopted(v View) (reaped []ID) {
	v.reap.Do(func() { reaped = t.reapAdopted(v) })
	return reaped
}

func (t *Table) reapAdopted(v View) (reaped []ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, pid := range v.children[v.self] {
		p := v.procs[pid]
		if !p.Zombie() || t.spawned[pid] != nil {
			continue
		}
		// If the pid was used again since the view was taken, it names another adopted child, which
		// WNOHANG leaves alone unless it has ended too, or no child of ours.
		if got, err := unix.Wait4(pid, nil, unix.WNOHANG, nil); err == nil && got == pid {
			reaped = append(reaped, p.ID)
		}
	}
	return reaped
}
