package delegation

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"scv/daemon/process"
	"scv/internal/testexe"
	"scv/store"
)

func needCgroups(t *testing.T) {
	t.Helper()
	if cgroups == "" {
		t.Skip("nothing was tested: no cgroup can be made here")
	}
}

// hidden is the shape that only a cgroup ties: a double fork in a new session with an empty environment.
func hidden(file string) testexe.Step {
	return testexe.Step{Spawn: &testexe.Spawn{
		Setsid: true, EmptyEnv: true, Double: true, Script: testexe.Script{{WritePID: file}, {SleepMillis: forever}},
	}}
}

// A run's cgroup is on record from its live commit on, counts its processes, ends what hides and goes with the run.
func TestCgroupOfARun(t *testing.T) {
	needCgroups(t)
	w := newWorld(t)
	r := w.start("fake-000001", hidden(w.file("hidden")), testexe.Step{WaitFile: w.file("go on")})
	pid := pidIn(t, w.file("hidden"))
	d, _ := w.record("fake-000001")
	want := cgroups.For(w.instance, "fake-000001")
	if d.Cgroup.Path != want.Path || d.Cgroup.Inode == 0 {
		t.Errorf("on record: %+v", d.Cgroup)
	}
	if known, err := w.k.Known(); err != nil || known.Runs[0].Cgroup != d.Cgroup.Inode {
		t.Errorf("callers are told %+v, %v", known.Runs, err)
	}
	until(t, "both", func() bool { s, err := w.k.List(false); must(t, err); return s.Entries[0].Processes == 2 })
	why, err := w.k.Explain("fake-000001")
	must(t, err)
	if i := slices.IndexFunc(why, func(e process.Evidence) bool { return e.ID == pid }); i < 0 || why[i].How != process.ByCgroup {
		t.Errorf("%+v", why)
	}
	must(t, writeFile(w.file("go on")))
	done(t, r)
	if pid.Alive() || exists(want.Path) {
		t.Errorf("the hidden one lives: %v, the cgroup is there: %v", pid.Alive(), exists(want.Path))
	}
}

// An owner died; its runs are stopped whole, and so are runs that only their cgroup tells of.
func TestCgroupsAreFoundAgain(t *testing.T) {
	needCgroups(t)
	w := newWorld(t)
	settle := func(handle string, script ...testexe.Step) (process.Cgroup, process.ID) {
		path, args := testexe.Command(append(testexe.Script{hidden(w.file(handle))}, script...))
		c, err := table.Spawn(process.Spec{Path: path, Args: args, Cgroup: cgroups.For(w.instance, handle)})
		must(t, err)
		id := pidIn(t, w.file(handle))
		_, err = c.Wait()
		must(t, err)
		return c.Cgroup(), id
	}
	recorded, first := settle("fake-000001")
	unrecorded, second := settle("fake-000002")
	starting, third := settle("fake-000003")
	empty := cgroups.For(w.instance, "fake-000004")
	must(t, unix.Mkdir(empty.Path, 0o755))
	other := cgroups.For(w.instance+"x", "fake-000005")
	must(t, unix.Mkdir(other.Path, 0o755))
	defer func() { must(t, unix.Rmdir(other.Path)) }()
	d := about
	d.State, d.Owner, d.Cgroup = store.RunStarting, store.ProcessID{PID: 1, Start: 1, Boot: w.k.o.Self.Boot}, store.Cgroup(recorded)
	w.put("fake-000001", d)
	d.Cgroup = store.Cgroup(cgroups.For(w.instance, "fake-000003")) // its owner died before it could tell the inode
	w.put("fake-000003", d)
	w.passes()
	if anyAlive(first, second, third) {
		t.Errorf("alive: recorded %v, not on record %v, starting %v", first.Alive(), second.Alive(), third.Alive())
	}
	for _, c := range []process.Cgroup{recorded, unrecorded, starting, empty} {
		if exists(c.Path) {
			t.Errorf("%s is left", c.Path)
		}
	}
	if !exists(other.Path) {
		t.Error("another instance's was removed")
	}
	w.pass()
	if before := w.k.activity(); !before.quiet {
		t.Error("passes go on with nothing to look at")
	}
}

// Records that name a cgroup that is not their run's: nobody is killed by their word.
func TestDamagedCgroups(t *testing.T) {
	needCgroups(t)
	w := newWorld(t)
	decoy := w.start("fake-00dec0", testexe.Step{SleepMillis: forever})
	kept, _ := w.record("fake-00dec0")
	ours := filepath.Join(string(cgroups), "scv-"+w.instance+"-fake-000000")
	for i, c := range []store.Cgroup{
		kept.Cgroup,
		{Path: string(cgroups)},
		{Path: kept.Cgroup.Path + "/../" + filepath.Base(kept.Cgroup.Path)},
		{Path: "/"},
		{Path: "relative"},
		{Path: ours, Inode: 1},
		{Path: ours + "/"},
		{Inode: kept.Cgroup.Inode},
	} {
		d := about
		d.State, d.Owner, d.Cgroup = store.RunStarting, store.ProcessID{PID: 1, Start: 1, Boot: w.k.o.Self.Boot}, c
		w.put("fake-00000"+strconv.Itoa(i), d)
	}
	w.passes()
	if !decoy.child.ID().Alive() || !exists(kept.Cgroup.Path) {
		t.Error("a run was killed by another's record")
	}
	if s, err := w.k.List(true); err != nil || len(s.Entries) != 1 {
		t.Errorf("left for ever: %+v %v", s, err)
	}
}

// A process that writes itself out of its run's cgroup was seen in it, and is stopped with the run.
func TestOutOfTheCgroup(t *testing.T) {
	needCgroups(t)
	w := newWorld(t)
	r := w.start("fake-000001", hidden(w.file("hidden")), testexe.Step{SleepMillis: forever})
	pid := pidIn(t, w.file("hidden"))
	w.pass()
	must(t, os.WriteFile(filepath.Join(string(cgroups), "cgroup.procs"), []byte(strconv.Itoa(pid.PID)), 0))
	why, err := w.k.Explain("fake-000001")
	must(t, err)
	if !slices.ContainsFunc(why, func(e process.Evidence) bool { return e.ID == pid }) {
		t.Errorf("%+v", why)
	}
	kill(t, w.k, "fake-000001")
	done(t, r)
	if pid.Alive() {
		t.Error("it got away")
	}
}
