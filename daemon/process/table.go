package process

import (
	"fmt"
	"os"
	"runtime"
	"sync"
)

// Table looks at the process table and spawns. Several in a process know of each other's children; what os/exec
// has spawned looks adopted to them, and would be stopped and reaped.
type Table struct {
	*children

	seen   programs // by the last pass, of which there is one at a time
	homes  homes    // by the last that wanted to know
	passes passes
}

// children are what was spawned in this process. The kernel has one list of them for all of it, so there is one here:
// to a table that did not know of another's child, it would be what some run left behind.
type children struct {
	mu      sync.Mutex // spawning and reaping exclude each other
	spawned map[int]*Child
}

var spawnedHere = &children{spawned: map[int]*Child{}}

// NewTable makes a table that has seen nothing yet.
func NewTable() *Table { return &Table{children: spawnedHere} }

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

// homes keeps likewise the cgroups of runs that each process was in when it was seen first.
type homes map[life][]Cgroup

type life struct {
	pid   int
	start uint64
}

// look makes one pass over the process table.
func (t *Table) look(cgroups bool) (View, error) {
	pids, err := listPIDs()
	if err != nil {
		return View{}, fmt.Errorf("cannot list processes: %w", err)
	}
	read := make([]reading, len(pids))
	share(len(pids), func(i int) { read[i] = t.read(pids[i], cgroups) })
	seen := make(programs, len(t.seen))
	procs := make([]Proc, 0, len(pids))
	for _, r := range read {
		if r.gone {
			continue
		}
		procs = append(procs, r.proc)
		if r.whole {
			seen[r.key] = r.program
		}
	}
	t.seen = seen
	view := NewView(os.Getpid(), procs)
	if cgroups {
		t.homes, view.cgroups = homesOf(read)
	}
	return view, nil
}

// homesOf puts together which processes are in which cgroups.
func homesOf(read []reading) (known homes, all map[string]members) {
	known, all = make(homes, len(read)), map[string]members{}
	for _, r := range read {
		if r.gone || !r.found {
			continue
		}
		known[life{r.key.pid, r.key.start}] = r.cgroups
		for _, c := range r.cgroups {
			all[c.Path] = members{c.Inode, append(all[c.Path].pids, r.key.pid)}
		}
	}
	return known, all
}

// reading is what a pass has read of one process.
type reading struct {
	proc    Proc
	gone    bool
	key     programKey
	program program
	whole   bool // else it is read again in the next pass
	cgroups []Cgroup
	found   bool // its cgroups are known
}

// read reads one process. If its pid passes to another one meanwhile, start and the rest do not fit and name
// nobody: harmless.
func (t *Table) read(pid int, cgroups bool) (r reading) {
	p, img, err := readStat(pid)
	if err != nil {
		return reading{gone: true}
	}
	r.key = programKey{p.PID, p.Start, img}
	if r.program, r.whole = t.seen[r.key]; !r.whole {
		if r.program.serial, err = lookupSerial(pid); err != nil {
			return reading{gone: true}
		}
		if img != (image{}) { // else it has no environment, or none we may read
			r.program.tag, r.whole = ownTag(pid)
		}
	}
	if cgroups {
		if r.cgroups, r.found = t.homes[life{p.PID, p.Start}]; !r.found {
			r.cgroups, r.found = cgroupsAround(pid)
		}
	}
	p.Serial, p.Tag = r.program.serial, r.program.tag
	r.proc = p
	return r
}

// together is how many readings are worth a processor of their own.
const together = 256

// share does something for each number below n, on several processors where there is much of it.
func share(n int, do func(int)) {
	workers := min(runtime.GOMAXPROCS(0), 1+n/together)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := w; i < n; i += workers {
				do(i)
			}
		})
	}
	all.Wait()
}
