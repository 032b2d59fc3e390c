// Package delegation keeps every delegated agent run on record and under control: it records a run
// before it exists, ties each process to its run, lists them, stops them, and clears up after an owner
// that is gone. It asks daemon/process for every look at and every signal to a process.
//
// A record is written as starting before the spawn and as live, with the leader's identity, before the
// agent is told its task. It is deleted when the run's processes are gone and its one report is stored.
package delegation

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"scv/daemon/process"
	"scv/internal/clock"
	"scv/store"
)

// Numbers of docs/rules.md §4.
const (
	passInterval = time.Second      // between two looks at the processes
	orphanGrace  = 3 * time.Second  // an orphan is listed this long before it is stopped (gone ≤ 10 s)
	stopTimeout  = 10 * time.Second // for one stop: TERM, 2 s, KILL, proof
	maxOutput    = 64 << 20         // bytes a run may print to out or err before it is stopped
)

// What is kept of the output of a run that has ended, in bytes. The rest would only fill the disk, on
// which its own report must find room.
const (
	KeptOutput = 64<<10 + 1 // the beginning of out: an answer, and one byte that shows that there was more
	KeptErrors = 4 << 10    // the end of err
)

// Options is what the daemon hands in.
type Options struct {
	Store    *store.Store
	Clock    clock.Clock
	Log      *slog.Logger
	Procs    *process.Table
	Cgroups  process.Cgroups // where runs get their own; "" where that cannot be
	Self     process.ID      // the daemon
	Instance string
	Home     string
	Parent   string // the daemon's own SCV_PARENT, "" at the top
	Depth    uint32 // of the daemon itself: 0 at the top
	MaxDepth uint32
	// Condenser is agent.Condenser of a configured agent. Nil is one that has none.
	Condenser func(agent string) func(out io.Reader) ([]byte, error)

	maxOutput int64        // for tests: instead of maxOutput
	step      func(string) // for tests: called between the steps of a run's life
}

// Keeper holds the runs of this instance.
type Keeper struct {
	o    Options
	step func(string)
	work sync.WaitGroup // stops begun by passes

	moving       atomic.Bool  // the daemon becomes another program
	ending       sync.RWMutex // held for reading from when a leader has exited until that is on record
	leftToOthers bool         // runs that end now are the next program's; guarded by ending

	mu     sync.Mutex
	own    map[string]*Run        // runs this process started and waits for
	lost   map[string]clock.Stamp // runs whose owner is gone, and since when that is known
	stops  map[string]struct{}    // what passes are stopping
	reaped uint64                 // orphans that were stopped

	starts  int // runs started in this life
	nothing int // what starts was when a pass last found nothing at all, -1 for never
}

// New makes the keeper. Run must be called for the passes.
func New(o Options) *Keeper {
	if o.Condenser == nil {
		o.Condenser = func(string) func(io.Reader) ([]byte, error) { return nil }
	}
	if o.maxOutput == 0 {
		o.maxOutput = maxOutput
	}
	k := &Keeper{
		o: o, step: o.step, own: map[string]*Run{}, lost: map[string]clock.Stamp{}, stops: map[string]struct{}{},
		nothing: -1,
	}
	if k.step == nil {
		k.step = func(string) {}
	}
	return k
}

// Run looks at the processes now and every second until ctx ends; then it waits for the stops it began.
func (k *Keeper) Run(ctx context.Context) error {
	defer k.work.Wait()
	k.clearFolders()
	tick := time.NewTicker(passInterval)
	defer tick.Stop()
	for {
		k.Pass(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (k *Keeper) rows() (rows []store.DelegationRow, err error) {
	err = k.o.Store.View(func(v *store.View) error {
		rows = v.Delegations()
		return nil
	})
	return rows, err
}
