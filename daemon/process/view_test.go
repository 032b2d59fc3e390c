package process

import (
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"scv/internal/testexe"
)

const (
	ours  = 10 // our pid and group in made-up views
	boot  = "boot-1"
	tagA  = "inst/s1/fake-aaaaaa"
	tagAB = tagA + ";inst/s2/fake-bbbbbb"
)

// made is a process of a made-up view; its start time is 100 times its pid.
func made(pid, ppid, pgid int, more ...string) Proc {
	p := Proc{ID: madeID(pid), PPID: ppid, PGID: pgid, SID: ours, State: 'S'}
	for _, m := range more {
		if m == "zombie" {
			p.State = 'Z'
			continue
		}
		p.Tag = m
	}
	return p
}

func madeID(pid int) ID { return ID{PID: pid, Start: uint64(pid) * 100, Boot: boot} }

func pids(ids []ID) []int {
	var pids []int
	for _, id := range ids {
		pids = append(pids, id.PID)
	}
	return pids
}

func pidsOf(procs []Proc) []int {
	var pids []int
	for _, p := range procs {
		pids = append(pids, p.PID)
	}
	return pids
}

func TestTaggedCountsWholeComponents(t *testing.T) {
	view := NewView(ours, []Proc{
		made(20, ours, 20, tagA), made(21, 20, 20, tagAB), made(22, 20, 20, tagA, "zombie"),
		made(30, 1, 30, "inst/s1/fake-aaaaaab"), made(31, 1, 30, "xinst/s1/fake-aaaaaa"), made(32, 1, 30, "inst/fake-aaaaaa"),
		made(33, 1, 30, "inst/s1/x/fake-aaaaaa"), made(34, 1, 30, "other/s1/fake-aaaaaa"), made(35, 1, 30, ";;//;"),
		made(36, 1, 30, tagA+";"+tagA),
	})
	for handle, want := range map[string][]int{"fake-aaaaaa": {20, 21, 36}, "fake-bbbbbb": {21}, "fake-cccccc": nil, "": nil} {
		if got := pidsOf(view.Tagged("inst", handle)); !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", handle, got, want)
		}
	}
}

func TestHandlesAreThoseOfOneInstance(t *testing.T) {
	view := NewView(ours, []Proc{
		made(ours, 1, ours, "inst/s/outer-000001"), made(20, ours, 20, tagAB), made(21, 20, 20, tagA), made(22, 1, 22, "inst/s/dead-000001", "zombie"),
		made(23, 1, 23, "other/s1/fake-cccccc"), made(24, 1, 24, "xinst/s1/fake-dddddd"), made(25, 1, 25, "inst/s1/"), made(26, 1, 26, "inst/fake-eeeeee"),
	})
	if got := view.Handles("inst"); !slices.Equal(got, []string{"fake-aaaaaa", "fake-bbbbbb"}) {
		t.Errorf("got %v", got)
	}
	if got := HandlesIn("other/s/x-1;"+tagAB, "inst"); !slices.Equal(got, []string{"fake-aaaaaa", "fake-bbbbbb"}) {
		t.Errorf("in a tag: %v", got)
	}
}

func TestViewKnowsProcessesByIdentity(t *testing.T) {
	view := NewView(ours, []Proc{made(20, ours, 20), made(21, 20, 20, "zombie"), made(22, 21, 22)})
	other := madeID(20)
	other.Start++
	if !view.Live(madeID(20)) || view.Live(other) || view.Live(madeID(21)) || view.Live(madeID(99)) {
		t.Error("Live takes one process for another")
	}
	if got := pidsOf(view.Members(20)); !slices.Equal(got, []int{20}) {
		t.Errorf("members %v", got)
	}
	if got := pidsOf(view.Descendants(madeID(20))); !slices.Equal(got, []int{22}) {
		t.Errorf("descendants %v", got)
	}
	if got := view.Descendants(other); got != nil {
		t.Errorf("descendants of a stranger: %v", got)
	}
}

func TestSerialTellsOneTickApart(t *testing.T) {
	a, b, record := madeID(20), madeID(20), madeID(20)
	a.Serial, b.Serial = 1, 2
	if a.Is(b) || !a.Is(record) || !record.Is(b) || !a.Is(a) {
		t.Error("serials are compared wrongly")
	}
}

func TestTies(t *testing.T) {
	run := Run{Leader: madeID(20), Group: 20, Instance: "inst", Handle: "fake-aaaaaa"}
	stale := run
	stale.Leader.Start++
	known := func(r Run, pids ...int) Run {
		for _, pid := range pids {
			r.Known = append(r.Known, madeID(pid))
		}
		return r
	}
	self := made(ours, 1, ours)
	for name, tc := range map[string]struct {
		run   Run
		procs []Proc
		want  []int
	}{
		"group, children, tags":                        {run, []Proc{self, made(20, ours, 20), made(21, 20, 20), made(22, 20, 22), made(23, 22, 22), made(24, 1, 24, tagAB), made(25, 24, 25), made(50, 1, 50)}, []int{20, 21, 22, 23, 24, 25}},
		"a zombie leader proves its group":             {run, []Proc{self, made(20, ours, 20, "zombie"), made(21, ours, 20)}, []int{21}},
		"a group number used again":                    {stale, []Proc{self, made(20, 1, 20), made(21, 20, 20)}, nil},
		"a group proven by a tag":                      {stale, []Proc{self, made(21, 1, 20, tagA), made(22, 1, 20)}, []int{21, 22}},
		"a group proven by a known member":             {known(stale, 21), []Proc{self, made(21, 1, 20), made(22, 1, 20)}, []int{21, 22}},
		"a group proven by a known zombie":             {known(stale, 21), []Proc{self, made(21, 1, 20, "zombie"), made(22, 1, 20)}, []int{22}},
		"known elsewhere does not prove the group":     {known(stale, 30), []Proc{self, made(30, 1, 30), made(31, 30, 31), made(22, 1, 20)}, []int{30, 31}},
		"a descendant joins the group":                 {known(stale, 30), []Proc{self, made(30, 1, 30), made(31, 30, 20), made(22, 1, 20)}, []int{22, 30, 31}},
		"a known pid used again":                       {Run{Known: []ID{{PID: 30, Start: 1, Boot: boot}}}, []Proc{self, made(30, 1, 30)}, nil},
		"we descend from the run, our children do not": {known(run, 30), []Proc{made(30, 1, 30), made(ours, 30, ours), made(40, ours, 40), made(41, 30, 41)}, []int{30, 41}},
		"our own group is never the run's":             {Run{Leader: madeID(30), Group: ours}, []Proc{self, made(30, ours, ours), made(31, 1, ours)}, []int{30}},
		"ourselves and pid 1 are never tied":           {Run{Known: []ID{madeID(1), madeID(ours)}, Leader: madeID(1)}, []Proc{made(1, 0, 1), self, made(20, 1, 20)}, nil},
		"group 0 holds the kernel's threads":           {Run{Leader: madeID(30)}, []Proc{self, made(2, 0, 0), made(30, 1, 0)}, []int{30}},
		"nothing known":                                {Run{}, []Proc{self, made(20, ours, 20)}, nil},
	} {
		if got := pids(Ties(NewView(ours, tc.procs), tc.run)); !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
}

// Whatever the table holds: only live processes of the view are tied, never pid 1 or ourselves, what is
// known stays tied, and nothing is tied when nothing of the run is there.
func TestTiesProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pid := rapid.IntRange(1, 24)
		var procs []Proc
		for _, n := range rapid.SliceOfNDistinct(pid, 1, 24, rapid.ID[int]).Draw(t, "pids") {
			p := made(n, pid.Draw(t, "ppid"), pid.Draw(t, "pgid"), rapid.SampledFrom([]string{"", tagA, tagAB, "x", "zombie"}).Draw(t, "more"))
			procs = append(procs, p)
		}
		run := Run{Leader: madeID(pid.Draw(t, "leader")), Group: pid.Draw(t, "group"), Instance: "inst", Handle: "fake-aaaaaa"}
		for _, n := range rapid.SliceOfN(pid, 0, 3).Draw(t, "known") {
			run.Known = append(run.Known, madeID(n))
		}
		view := NewView(ours, procs)
		ties := Ties(view, run)
		for _, id := range ties {
			if !view.Live(id) || id.PID <= 1 || id.PID == ours {
				t.Fatalf("tied: %v", id)
			}
		}
		for _, id := range run.Known {
			if view.Live(id) && id.PID > 1 && id.PID != ours && !slices.Contains(ties, id) {
				t.Fatalf("known but not tied: %v", id)
			}
		}
		gone := Run{Leader: ID{PID: run.Leader.PID, Boot: "earlier"}, Group: run.Group}
		if got := Ties(view, gone); got != nil {
			t.Fatalf("tied to a run of an earlier boot: %v", got)
		}
		again := run
		again.Known = ties
		if got := Ties(view, again); !slices.Equal(got, ties) {
			t.Fatalf("a second look differs: %v, then %v", ties, got)
		}
	})
}

// An exec keeps pid and start time, but what is remembered of the old program must not stick to the new.
func TestScanReadsTheTagOfTheNewProgram(t *testing.T) {
	dir := t.TempDir()
	first, second, swap := filepath.Join(dir, "1"), filepath.Join(dir, "2"), filepath.Join(dir, "swap")
	c := spawn(t, Spec{Env: []string{"A=1"}}, testexe.Script{
		{WritePID: first}, {WaitFile: swap}, {SetEnv: tagOf(t)}, {Exec: member(second)},
	})
	id := pidIn(t, first)
	if p, ok := scan(t).Find(id); !ok || p.Tag != "" || id != c.ID() {
		t.Fatalf("before: %+v %v", p, ok)
	}
	touch(t, swap)
	if again := pidIn(t, second); again != id {
		t.Fatalf("the identity changed: %+v, then %+v", id, again)
	}
	if found := pidsOf(scan(t).Tagged(instance, handleOf(t))); !slices.Equal(found, []int{id.PID}) {
		t.Errorf("after: %v", found)
	}
}

// By what each process is tied, and through whom.
func TestExplain(t *testing.T) {
	run := Run{Leader: madeID(20), Group: 20, Instance: "inst", Handle: "fake-aaaaaa", Cgroup: Cgroup{Path: "/c", Inode: 7}}
	for _, pid := range []int{20, 21, 26, 28} {
		run.Known = append(run.Known, madeID(pid))
	}
	view := NewView(ours, []Proc{
		made(ours, 1, ours), made(20, ours, 20, tagA), made(21, 20, 20, tagA), made(22, 1, 22, tagA), made(23, 1, 23), made(24, 23, 24),
		made(25, 1, 20), made(26, 1, 26), made(27, 26, 27), made(28, 1, 28, "zombie"), made(29, 28, 29), made(30, 1, 30),
	})
	view.cgroups = map[string]members{"/c": {7, []int{20, 23, 1, ours}}, "/other": {8, []int{30}}}
	want := map[int]How{
		20: ByLeader, 21: ByGroup, 22: ByTag, 23: ByCgroup, 24: ByParent, 25: ByGroup, 26: BySight, 27: ByParent, 29: ByParent,
	}
	via := map[int]int{24: 23, 27: 26, 29: 28}
	all := Explain(view, run)
	for _, e := range all {
		if e.How != want[e.PID] || e.Via.PID != via[e.PID] {
			t.Errorf("%d: %s through %d", e.PID, e.How, e.Via.PID)
		}
		delete(want, e.PID)
	}
	if len(want) > 0 || !slices.IsSortedFunc(all, func(a, b Evidence) int { return a.PID - b.PID }) {
		t.Errorf("missing %v in %+v", want, all)
	}
}

// Those who look at the same time see the same pass, and never one that had begun before they asked.
func TestLooksAreShared(t *testing.T) {
	const crowd = 64
	var all sync.WaitGroup
	table.passes.running.Lock() // somebody's pass is under way
	views := make([]View, crowd)
	for i := range crowd {
		all.Go(func() {
			view, err := table.Scan(Run{Cgroup: Cgroup{Path: []string{"", "/c"}[i%2]}})
			if err != nil {
				t.Error(err)
			}
			views[i] = view
		})
	}
	until(t, "all of them wait", func() bool {
		table.passes.mu.Lock()
		defer table.passes.mu.Unlock()
		return table.passes.next != nil && table.passes.next.callers == crowd
	})
	c := spawn(t, Spec{}, testexe.Script{{SleepMillis: forever}}) // after they asked, and before they see
	table.passes.running.Unlock()
	all.Wait()
	for _, view := range views {
		if !view.Live(c.ID()) || view.cgroups == nil {
			t.Fatalf("not the pass of all: %+v", view.cgroups)
		}
	}
	later := spawn(t, Spec{}, testexe.Script{{SleepMillis: forever}})
	if !scan(t).Live(later.ID()) {
		t.Error("an old pass was shown")
	}
}
