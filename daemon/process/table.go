package process

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
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
	read := make([]reading, len(pids))
	share(len(pids), func(i int) { read[i] = t.read(pids[i]) })
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
	wanted := slices.Collect(maps.Keys(cgroups))
	members := make([][]int, len(wanted))
	share(len(wanted), func(i int) { members[i] = wanted[i].pids() })
	for i, c := range wanted {
		cgroups[c] = members[i]
	}
	view.cgroups = cgroups
	return view, nil
}

// reading is what a pass has read of one process.
type reading struct {
	proc    Proc
	gone    bool
	key     programKey
	program program
	whole   bool // else it is read again in the next pass
}

// read reads one process. If its pid passes to another one meanwhile, start and serial do not fit and name
// nobody: harmless.
func (t *Table) read(pid int) (r reading) {
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
