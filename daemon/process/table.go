package process

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
)

// Table holds what was spawned here and looks at the process table. There is exactly one in a process,
// tests included: what a second one or os/exec has spawned looks adopted to the first, and it would reap it.
type Table struct {
	mu      sync.Mutex // spawning and reaping exclude each other
	spawned map[int]*Child

	tags   atomic.Pointer[tagCache] // of the last pass
	passes passes
}

// NewTable makes an empty table.
func NewTable() *Table { return &Table{spawned: map[int]*Child{}} }

// tagCache keeps the tags of a pass for the next one: reading environments is most of its cost.
type tagCache map[tagKey]string

// tagKey names one program of one process: an exec keeps the identity and changes the image.
type tagKey struct {
	id    ID
	image image
}

// look makes one pass over the process table, and then over the cgroups: in that order a member that the
// pass has seen under another identity is one that is gone, and no stranger.
func (t *Table) look(cgroups map[Cgroup][]int) (View, error) {
	pids, err := listPIDs()
	if err != nil {
		return View{}, fmt.Errorf("cannot list processes: %w", err)
	}
	old := t.tags.Load()
	if old == nil {
		old = &tagCache{}
	}
	tags := make(tagCache, len(*old))
	procs := make([]Proc, 0, len(pids))
	for _, pid := range pids {
		p, img, err := readProc(pid)
		if err != nil {
			continue // gone
		}
		if img != (image{}) { // else it has no environment, or none we may read
			p.Tag = cachedTag(tagKey{p.ID, img}, *old, tags)
		}
		procs = append(procs, p)
	}
	t.tags.Store(&tags)
	view := NewView(os.Getpid(), procs)
	for c := range cgroups {
		cgroups[c] = c.pids()
	}
	view.cgroups = cgroups
	return view, nil
}

func cachedTag(key tagKey, old, tags tagCache) string {
	tag, ok := old[key]
	if !ok {
		if tag, ok = ownTag(key.id.PID); !ok {
			return "" // not known: asked again in the next pass
		}
	}
	tags[key] = tag
	return tag
}
