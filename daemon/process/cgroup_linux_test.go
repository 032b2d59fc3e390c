package process

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"scv/daemon/caller"
	"scv/internal/testexe"
)

// cgroups is where this machine lets us make them; a test that needs one says that there are none.
func cgroups(t *testing.T) Cgroups {
	t.Helper()
	in, err := FindCgroups()
	if err != nil {
		t.Skip("nothing was tested: ", err)
	}
	return in
}

// inCgroup starts a fake program in a cgroup of its own.
func inCgroup(t *testing.T, script testexe.Script) (*Child, Run) {
	t.Helper()
	spec := Spec{Env: []string{tagOf(t)}, Cgroup: cgroups(t).For(instance, handleOf(t))}
	c := spawn(t, spec, script)
	if c.Cgroup().Inode == 0 {
		t.Fatalf("it has no cgroup: %+v", c.Cgroup())
	}
	run := runOf(t, c)
	run.Cgroup = c.Cgroup()
	return c, run
}

// gone expects that the cgroup was removed.
func (c Cgroup) gone(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(c.Path); err == nil {
		t.Errorf("%s is left", c.Path)
	}
}

// The shape that nothing else can tie: a double fork in a new session with an empty environment, which nobody saw
// while its parents lived. The cgroup holds it, and what it starts.
func TestCgroupHoldsWhatHides(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	hidden := testexe.Spawn{
		Setsid: true, EmptyEnv: true, Double: true,
		Script: member(file("hidden"), testexe.Step{IgnoreTerm: true}, testexe.Step{Spawn: &testexe.Spawn{Setsid: true, Script: member(file("deeper"))}}),
	}
	c, run := inCgroup(t, testexe.Script{{Spawn: &hidden}, {WaitFile: file("hidden")}})
	all := []ID{pidIn(t, file("hidden")), pidIn(t, file("deeper"))}
	wait(t, c)
	bare := run
	bare.Cgroup = Cgroup{}
	view, err := table.Scan(run)
	if err != nil {
		t.Fatal(err)
	}
	if ties := Ties(view, bare); len(ties) != 0 {
		t.Fatalf("not the case that is to be tested: without the cgroup %v are tied", ties)
	}
	for _, e := range Explain(view, run) {
		if e.How != ByCgroup || e.Name == "" {
			t.Errorf("%+v", e)
		}
	}
	slices.SortFunc(all, compareIDs)
	if ties := Ties(view, run); !slices.Equal(ties, all) {
		t.Errorf("tied %v, want %v", ties, all)
	}
	if ties := Ties(scan(t), run); len(ties) != 0 {
		t.Errorf("tied by a cgroup that nobody looked into: %v", ties)
	}
	stop(t, run)
	if all[0].Alive() || all[1].Alive() {
		t.Error("something is alive")
	}
	run.Cgroup.gone(t)
}

// A run may make cgroups below its own and hide in them.
func TestCgroupsBelowCount(t *testing.T) {
	file := filepath.Join(t.TempDir(), "worker")
	c, run := inCgroup(t, testexe.Script{{Spawn: &testexe.Spawn{Setsid: true, EmptyEnv: true, Double: true, Script: member(file)}}, {WaitFile: file}})
	worker := pidIn(t, file)
	wait(t, c)
	deep := filepath.Join(run.Cgroup.Path, "a", "b")
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	moveTo(t, deep, worker)
	if around, ok := cgroupsAround(worker.PID); !ok || !slices.Contains(around, run.Cgroup) {
		t.Errorf("around it are %v, not %v", around, run.Cgroup)
	}
	if found := CgroupOf(worker.PID, instance, handleOf(t)); found != run.Cgroup {
		t.Errorf("found %+v", found)
	}
	view, err := table.Scan(run)
	if err != nil {
		t.Fatal(err)
	}
	if ties := Ties(view, run); !slices.Equal(ties, []ID{worker}) {
		t.Errorf("tied: %v", ties)
	}
	stop(t, run)
	if worker.Alive() {
		t.Error("it got away")
	}
	run.Cgroup.gone(t)
}

func moveTo(t *testing.T, folder string, id ID) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, "cgroup.procs"), []byte(strconv.Itoa(id.PID)), 0); err != nil {
		t.Fatal(err)
	}
}

// A process that writes itself out of the cgroup is tied by having been seen.
func TestOutOfTheCgroup(t *testing.T) {
	file := filepath.Join(t.TempDir(), "worker")
	c, run := inCgroup(t, testexe.Script{{Spawn: &testexe.Spawn{Setsid: true, EmptyEnv: true, Double: true, Script: member(file)}}, {WaitFile: file}})
	worker := pidIn(t, file)
	wait(t, c)
	view, err := table.Scan(run)
	if err != nil {
		t.Fatal(err)
	}
	run.Known = Ties(view, run)
	moveTo(t, string(cgroups(t)), worker)
	table.homes = nil // as after a restart: a table that saw it in the cgroup does not forget that
	if view, err = table.Scan(run); err != nil {
		t.Fatal(err)
	}
	if why := Explain(view, run); len(why) != 1 || why[0].ID != worker || why[0].How != BySight {
		t.Errorf("%+v", why)
	}
	stop(t, run)
	if worker.Alive() {
		t.Error("it got away")
	}
	run.Cgroup.gone(t)
}

// Nothing gets a cgroup that has none: the child runs all the same, and errors are those of the program.
func TestWithoutCgroup(t *testing.T) {
	missing := Cgroup{Path: filepath.Join(string(cgroups(t)), "scv-no-such", "scv-x-y-1")}
	c := spawn(t, Spec{Cgroup: missing}, testexe.Script{{Exit: testexe.Code(7)}})
	if exit := wait(t, c); exit.Code != 7 || c.Cgroup() != (Cgroup{}) {
		t.Errorf("%+v, %+v", exit, c.Cgroup())
	}
	dir := t.TempDir()
	notRunnable := filepath.Join(dir, "text")
	touch(t, notRunnable)
	for path, want := range map[string]error{filepath.Join(dir, "missing"): os.ErrNotExist, notRunnable: os.ErrPermission} {
		place := cgroups(t).For(instance, handleOf(t))
		if _, err := table.Spawn(Spec{Path: path, Cgroup: place}); !errors.Is(err, want) {
			t.Errorf("%s: %v", path, err)
		}
		place.gone(t)
	}
}

// A cgroup of a threaded tree takes no process in; mkdir in it succeeds.
func TestCgroupThatTakesNobodyIn(t *testing.T) {
	in := cgroups(t)
	outer := filepath.Join(string(in), "scv-test-threaded-"+strconv.Itoa(os.Getpid()))
	inner := filepath.Join(outer, "threads")
	if err := os.MkdirAll(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Rmdir(inner); _ = unix.Rmdir(outer) }()
	if err := os.WriteFile(filepath.Join(inner, "cgroup.type"), []byte("threaded"), 0); err != nil {
		t.Skip("nothing was tested: ", err)
	}
	// Below a threaded cgroup a new one is "domain invalid" until it is made threaded too.
	place := Cgroups(inner).For(instance, handleOf(t))
	c := spawn(t, Spec{Cgroup: place}, testexe.Script{{Exit: testexe.Code(7)}})
	if exit := wait(t, c); exit.Code != 7 || c.Cgroup() != (Cgroup{}) {
		t.Errorf("%+v, %+v", exit, c.Cgroup())
	}
	place.gone(t)
}

// One that a dead daemon left behind is used again when it is empty, and not when somebody lives in it.
func TestCgroupThatIsThere(t *testing.T) {
	place := cgroups(t).For(instance, handleOf(t))
	if err := unix.Mkdir(place.Path, 0o755); err != nil {
		t.Fatal(err)
	}
	c := spawn(t, Spec{Cgroup: place}, testexe.Script{{SleepMillis: forever}})
	if c.Cgroup().Path != place.Path {
		t.Fatalf("an empty one was not used: %+v", c.Cgroup())
	}
	other := spawn(t, Spec{Cgroup: place}, testexe.Script{{SleepMillis: forever}})
	if other.Cgroup() != (Cgroup{}) {
		t.Errorf("two runs share %+v", other.Cgroup())
	}
	stop(t, Run{Cgroup: c.Cgroup()})
	if c.ID().Alive() || !other.ID().Alive() {
		t.Errorf("the one in it lives: %v, the other: %v", c.ID().Alive(), other.ID().Alive())
	}
	place.gone(t)
}

// Cgroups that must not be touched: another's, one that we are in, the root, what is none at all.
func TestCgroupsThatAreNotOurs(t *testing.T) {
	in := cgroups(t)
	c, run := inCgroup(t, testexe.Script{{SleepMillis: forever}})
	other := run.Cgroup
	other.Inode++
	folder := filepath.Join(t.TempDir(), "scv-"+instance+"-"+handleOf(t))
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []Cgroup{other, {Path: string(in)}, {Path: cgroupMount().point}, {Path: folder}, {Path: run.Cgroup.Path + "/.."}, {}} {
		if wrong.ours() && wrong.Of(instance, handleOf(t)) {
			t.Errorf("taken for ours: %+v", wrong)
		}
		if wrong.Path == run.Cgroup.Path+"/.." {
			continue // its name is refused
		}
		stop(t, Run{Cgroup: wrong})
		if !c.ID().Alive() {
			t.Fatalf("killed by the word of %+v", wrong)
		}
	}
	if _, err := os.Stat(folder); err != nil {
		t.Error("a folder that is no cgroup was removed")
	}
	for path, want := range map[string]bool{
		run.Cgroup.Path: true, run.Cgroup.Path + "x": false, run.Cgroup.Path + "/": false, "scv-" + instance + "-" + handleOf(t): false, "": false,
	} {
		if got := (Cgroup{Path: path}).Of(instance, handleOf(t)); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
	stop(t, run)
}

// We are in a run's cgroup ourselves: what is to be stopped there is stopped, and we live.
func TestStopInsideTheCgroupThatWeAreIn(t *testing.T) {
	const variable = "SCV_TEST_IN_CGROUP"
	if os.Getenv(variable) != "" {
		own := Cgroup{Path: cgroupFolder("self")}
		if !own.Of(instance, "outer") {
			t.Fatalf("not the case that is to be tested: %+v", own)
		}
		c := spawn(t, Spec{}, testexe.Script{{SleepMillis: forever}})
		stop(t, Run{Leader: c.ID(), Group: c.ID().PID, Cgroup: own})
		if c.ID().Alive() {
			t.Error("it lives")
		}
		if again, err := FindCgroups(); err != nil || string(again) != own.Path {
			t.Errorf("ours: %q, %v", again, err)
		}
		return
	}
	place := cgroups(t).For(instance, "outer")
	if err := unix.Mkdir(place.Path, 0o755); err != nil {
		t.Fatal(err)
	}
	defer func() { until(t, "it is empty", func() bool { return place.remove() == nil }) }()
	again(t, variable, `echo 0 > `+place.Path+`/cgroup.procs && exec "$@"`, nil, nil)
}

// A caller that hides from everything else is known by its cgroup, also when the daemon that started it
// is not among its ancestors.
func TestFactsTellTheCgroup(t *testing.T) {
	path, accept := listen(t)
	file := filepath.Join(t.TempDir(), "caller")
	hidden := testexe.Spawn{
		Setsid: true, EmptyEnv: true, Double: true,
		Script: testexe.Script{{WritePID: file}, {Connect: path}, {SleepMillis: forever}},
	}
	c, run := inCgroup(t, testexe.Script{{Spawn: &hidden}, {WaitFile: file}})
	var conn *net.UnixConn = accept()
	peer := pidIn(t, file)
	wait(t, c)
	_, facts := Facts(conn)
	known := caller.Known{Instance: instance, Runs: []caller.Run{{Handle: "fake-000001", Cgroup: run.Cgroup.Inode}}}
	if v := caller.Decide(facts, known); !v.Inside || !slices.Equal(v.Handles, []string{"fake-000001"}) {
		t.Errorf("%+v of %+v", v, facts)
	}
	known.Runs[0].Cgroup++
	if v := caller.Decide(facts, known); v.Inside {
		t.Errorf("%+v", v)
	}
	stop(t, run)
	if peer.Alive() {
		t.Error("it lives")
	}
}

// Members that fork all the time in sessions of their own, deaf to TERM, are not caught one by one.
func TestCgroupEndsAForkingRun(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh")
	}
	goOn := filepath.Join(t.TempDir(), "go-on") // it all ends when this is removed
	touch(t, goOn)
	line := `trap "" TERM; n() { if [ -e "$0" ]; then setsid sh -c "$1" "$0" "$1" & fi; }; n "$1"`
	c, err := table.Spawn(Spec{
		Path: sh, Args: []string{"-c", line, goOn, line}, Env: []string{"PATH=" + os.Getenv("PATH")},
		Cgroup: cgroups(t).For(instance, handleOf(t)),
	})
	if err != nil {
		t.Fatal(err)
	}
	run := Run{Leader: c.ID(), Group: c.ID().PID, Cgroup: c.Cgroup()}
	links := 0
	until(t, "the chain goes on", func() bool { links += len(table.ReapAdopted(scan(t))); return links > 3 })
	begun := time.Now()
	stop(t, run)
	if took := time.Since(begun); took > termGrace+killGrace {
		t.Errorf("took %v", took)
	}
	wait(t, c)
	run.Cgroup.gone(t)
	if err := os.Remove(goOn); err != nil {
		t.Fatal(err)
	}
	until(t, "all of it is reaped", func() bool {
		table.ReapAdopted(scan(t))
		return len(scan(t).children[os.Getpid()]) == 0
	})
}

func TestCgroupsOfAnInstance(t *testing.T) {
	in := cgroups(t)
	mine, other := in.For("instA", "fake-000001"), in.For("instAB", "fake-000002")
	for _, c := range []Cgroup{mine, other} {
		if err := unix.Mkdir(c.Path, 0o755); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.remove() }()
	}
	if handles, err := in.Handles("instA"); err != nil || !slices.Equal(handles, []string{"fake-000001"}) {
		t.Errorf("%v %v", handles, err)
	}
	if handles, err := Cgroups("").Handles("instA"); err != nil || handles != nil {
		t.Errorf("%v %v", handles, err)
	}
	for _, bad := range []string{"", "a/b", strings.Repeat("x", 300)} {
		if c := in.For("instA", bad); c != (Cgroup{}) {
			t.Errorf("%q: %+v", bad, c)
		}
	}
}

func TestFindMount(t *testing.T) {
	const hybrid = `30 22 0:27 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
31 30 0:28 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu
40 30 0:37 / /sys/fs/cgroup/unified rw,relatime shared:10 master:3 - cgroup2 cgroup2 rw
`
	for info, want := range map[string]mount{
		hybrid: {"/", "/sys/fs/cgroup/unified"},
		"1 0 0:1 /user.slice /sys/fs/a\\040b\\134c rw - cgroup2 none rw\n": {"/user.slice", `/sys/fs/a b\c`},
		"1 0 0:1 / /proc rw - proc proc rw\nbroken\n - cgroup2\n":          {},
	} {
		if got := findMount(info); got != want {
			t.Errorf("%q: %+v", info, got)
		}
	}
	for _, c := range []struct{ root, path, want string }{
		{"/", "/", "/m"},
		{"/", "/a/b", "/m/a/b"},
		{"/a", "/a/b", "/m/b"},
		{"/a", "/a", "/m"},
		{"/a", "/ab", ""},
		{"/a", "/b", ""},
		{"/", "/../b", ""},
		{"/", "/a (deleted)", ""},
	} {
		if got := (mount{c.root, "/m"}).folder(c.path); got != c.want {
			t.Errorf("%q in %q: %q", c.path, c.root, got)
		}
	}
	if got := (mount{}).folder("/a"); got != "" {
		t.Errorf("without a mount: %q", got)
	}
}
