package delegation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"scv/daemon/process"
	"scv/store"
)

// fate is a small world of runs to which anything may happen in any order.
type fate struct {
	*world
	t      *testing.T
	random *rand.Rand
	mark   string
	owners []*process.Child // of other runs than our own
	runs   []*fated
	done   []string // what has happened, for the report of a failure
}

// fated is one run: its processes as the test knows them.
type fated struct {
	handle string
	run    *Run           // nil: another process's
	leader *process.Child // of those
	owner  *process.Child
	ids    []process.ID
	told   bool // its report was stored
}

// Whatever happens, each run is exactly one of live, orphaned and gone, and no record goes while a process
// of its run lives. SCV_FATE_SEED repeats a run.
func TestEachRunIsLiveOrphanedOrGone(t *testing.T) {
	seed := uint64(time.Now().UnixNano() % 1e9)
	if text := os.Getenv("SCV_FATE_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		must(t, err)
		seed = n
	}
	t.Logf("seed %d (SCV_FATE_SEED=%d repeats it)", seed, seed)
	for round := range howMany(5, 200) {
		f := &fate{world: newWorld(t), t: t, random: rand.New(rand.NewPCG(seed, uint64(round))), mark: marker()}
		acts := []func(){f.begin, f.begin, f.another, f.endLeader, f.endOwner, f.kill, f.killOrphans, f.pass, f.passes, f.report, f.restart}
		for range 25 {
			acts[f.random.IntN(len(acts))]()
			f.check()
		}
		f.end()
		if t.Failed() {
			t.Fatalf("round %d: %v", round, f.done)
		}
	}
}

func (f *fate) note(format string, args ...any) {
	f.done = append(f.done, fmt.Sprintf(format, args...))
}

// one draws a run, nil while there is none.
func (f *fate) one() *fated {
	if len(f.runs) == 0 {
		return nil
	}
	return f.runs[f.random.IntN(len(f.runs))]
}

const fatedShape = `setsid sleep $0 & sleep $0`

func (f *fate) next() string { return numbered(len(f.runs)) }

// begin starts a run of ours.
func (f *fate) begin() {
	handle := f.next()
	f.note("begin %s", handle)
	r, err := f.k.Start(context.Background(), handle, placed(f.k), shellRun(f.k, handle, f.home, fatedShape, f.mark))
	must(f.t, err)
	f.runs = append(f.runs, &fated{handle: handle, run: r, ids: f.processes(r.child.ID())})
}

// another puts a run of another SCV process on record.
func (f *fate) another() {
	handle := f.next()
	f.note("another %s", handle)
	owner, err := table.Spawn(process.Spec{Path: "/bin/sleep", Args: []string{f.mark}})
	must(f.t, err)
	run := shellRun(f.k, handle, f.home, fatedShape, f.mark)
	leader, err := table.Spawn(process.Spec{Path: run.Path, Args: run.Args, Env: run.Env, Cgroup: cgroups.For(f.instance, handle)})
	must(f.t, err)
	d := placed(f.k)
	d.State, d.Owner, d.Leader, d.Cgroup = store.RunLive, store.ProcessID(owner.ID()), store.ProcessID(leader.ID()), store.Cgroup(leader.Cgroup())
	f.put(handle, d)
	f.owners = append(f.owners, owner)
	f.runs = append(f.runs, &fated{handle: handle, leader: leader, owner: owner, ids: f.processes(leader.ID())})
}

// processes waits for a run's three processes.
func (f *fate) processes(leader process.ID) (ids []process.ID) {
	until(f.t, "three processes", func() bool {
		view, err := table.Scan()
		must(f.t, err)
		ids = []process.ID{leader}
		for _, p := range view.Descendants(leader) {
			ids = append(ids, p.ID)
		}
		return len(ids) == 3 || !leader.Alive()
	})
	return ids
}

func (f *fate) endLeader() {
	if r := f.one(); r != nil && r.ids[0].Alive() {
		f.note("end the leader of %s", r.handle)
		_ = syscall.Kill(r.ids[0].PID, syscall.SIGKILL) // our child: its pid is nobody else's until it is waited for
	}
}

func (f *fate) endOwner() {
	if r := f.one(); r != nil && r.owner != nil && r.owner.ID().Alive() {
		f.note("end the owner of %s", r.handle)
		_ = syscall.Kill(r.owner.ID().PID, syscall.SIGKILL)
	}
}

// kill kills a run while a pass is made.
func (f *fate) kill() {
	r := f.one()
	if r == nil {
		return
	}
	f.note("kill %s", r.handle)
	var both sync.WaitGroup
	both.Go(func() { f.k.Pass(context.Background()) })
	both.Go(func() { _ = f.k.Kill(within(f.t), r.handle) }) // it may be gone
	both.Wait()
	f.k.work.Wait()
	if anyAlive(r.ids...) {
		f.t.Errorf("%s was killed and lives", r.handle)
	}
}

func (f *fate) killOrphans() {
	f.note("kill orphans")
	if _, err := f.k.KillOrphans(within(f.t)); err != nil {
		f.t.Error(err)
	}
}

// report stores the report of a run of ours that has ended.
func (f *fate) report() {
	r := f.one()
	if r == nil || r.run == nil || r.told {
		return
	}
	select {
	case <-r.run.Done():
		f.note("report %s", r.handle)
		must(f.t, r.run.keeper.Reported(within(f.t), r.handle))
		r.told = true
	default:
	}
}

// restart makes what runs ours no longer, as a restart of the daemon does.
func (f *fate) restart() {
	for _, r := range f.runs { // one that is just ending would meet a closed store
		if r.run != nil && !r.ids[0].Alive() {
			<-r.run.Done()
		}
	}
	f.note("restart")
	f.open()
	for _, r := range f.runs {
		if r.run != nil {
			r.told = true // nobody of ours reports it any more
		}
	}
}

// check looks at every run: at the record first, so that what was on record and goes meanwhile is no fault.
func (f *fate) check() {
	f.t.Helper()
	s, err := f.k.List(true)
	must(f.t, err)
	listed := map[string]bool{}
	active := uint64(0)
	for _, e := range s.Entries {
		if listed[e.Handle] {
			f.t.Errorf("%s is listed twice", e.Handle)
		}
		listed[e.Handle] = true
		if !e.Orphaned {
			active++
		}
	}
	if s.Active != active {
		f.t.Errorf("%d are active and %d of the entries are no orphans", s.Active, active)
	}
	for _, r := range f.runs {
		if !listed[r.handle] && anyAlive(r.ids...) {
			f.t.Errorf("%s is not on record, and lives: %v", r.handle, r.ids)
		}
	}
}

// end lets every owner die and time pass: then everything is gone.
func (f *fate) end() {
	f.restart()
	for _, owner := range f.owners {
		_ = syscall.Kill(owner.ID().PID, syscall.SIGKILL)
		_, err := owner.Wait()
		must(f.t, err)
	}
	f.passes()
	for _, r := range f.runs {
		if r.leader != nil {
			_, err := r.leader.Wait()
			must(f.t, err)
		}
		if r.run != nil {
			<-r.run.Done()
		}
	}
	f.check()
	if left := marked(f.t, f.mark); len(left) > 0 {
		f.t.Errorf("%d processes are left", len(left))
	}
	f.nothingLeft()
}
