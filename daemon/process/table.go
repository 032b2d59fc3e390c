package process

import (
	"fmt"
	"os"
	"sync"
)

// Table holds what was spawned here and looks at the process table. There is exactly one in a process,
// tests included: what a second one or os/exec has spawned looks adopted to the first, and it would reap it.
type Table struct {
	mu      sync.Mutex // spawning and reaping exclude each other
	spawned map[int]*Child

	seen   programs // by the last pass, of which there is one at a time
	passes passes
}

// NewTable makes an empty table.
func NewTable() *Table { return &Table{spawned: map[int]*Child{}} }

// programs keeps what a pass has read of each process for the next one: all but stat is most of its cost.
type programs map[programKey]program

// programKey names one program of one process: an exec keeps the identity and changes the image. A pid that
// is used again within a tick by a fork of the same program would be taken for the one before it; whoever
// signals it asks the kernel anew, and leaves it alone.
type programKey struct {
	pid   int
	start uint64
	image image
}

type program struct {
	serial uint64
	tag    string
}

// look makes one pass over the process table, and then over the cgroups: in that order a member that the
// pass has seen under another identity is one that is gone, and no stranger.
func (t *Table) look(cgroups map[Cgroup][]int) (View, error) {
	pids, err := listPIDs()
	if err != nil {
		return View{}, fmt.Errorf("cannot list processes: %w", err)
	}
	seen := make(programs, len(t.seen))
	procs := make([]Proc, 0, len(pids))
	for _, pid := range pids {
		p, img, err := readStat(pid)
		if err == nil {
			err = t.complete(&p, img, seen)
		}
		if err == nil { // else it is gone
			procs = append(procs, p)
		}
	}
	t.seen = seen
	view := NewView(os.Getpid(), procs)
	for c := range cgroups {
		cgroups[c] = c.pids()
	}
	view.cgroups = cgroups
	return view, nil
}

// complete adds to a process what stat does not tell. If its pid passes to another one meanwhile, start and
// serial do not fit and name nobody: harmless.
func (t *Table) complete(p *Proc, img image, seen programs) (err error) {
	key := programKey{p.PID, p.Start, img}
	known, ok := t.seen[key]
	if !ok {
		if known.serial, err = lookupSerial(p.PID); err != nil {
			return err
		}
		if img != (image{}) { // else it has no environment, or none we may read
			known.tag, ok = ownTag(p.PID)
		}
	}
	if ok { // else it is asked again in the next pass
		seen[key] = known
	}
	p.Serial, p.Tag = known.serial, known.tag
	return nil
}
