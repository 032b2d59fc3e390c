package caller_test

import (
	"slices"
	"testing"

	"scv/daemon/caller"

	"github.com/google/go-cmp/cmp"
)

const (
	ours    = "inst1"
	daemon  = 500
	tagA    = ours + "/s1/claude-aaaaaa"
	tagB    = tagA + ";" + ours + "/s2/codex-bbbbbb"
	handleA = "claude-aaaaaa"
	handleB = "codex-bbbbbb"
	handleD = "codex-dddddd" // run by a scv delegate, process 5000
)

// known has run A, whose leader is 1000, and run B nested in it, whose leader is 2000.
func known() caller.Known {
	return caller.Known{Instance: ours, DaemonPID: daemon, Runs: []caller.Run{
		{
			Handle: handleA, Leader: caller.Tie{PID: 1000, Start: 10}, PGID: 1000, Cgroup: 77,
			Ties: []caller.Tie{{PID: 1100, Start: 11}},
		},
		{Handle: handleB, Leader: caller.Tie{PID: 2000, Start: 20}, PGID: 2000},
		{Handle: "starting-cccccc"}, // spawned perhaps, nothing known of it yet
		{Handle: handleD, Leader: caller.Tie{PID: 5100, Start: 51}, PGID: 5100, Owner: caller.Tie{PID: 5000, Start: 50}},
	}}
}

func link(pid, ppid, pgid, sid int, tag string) caller.Link {
	return caller.Link{PID: pid, PPID: ppid, PGID: pgid, SID: sid, Start: 99, Tag: tag, EnvReadable: true}
}

var (
	theDaemon = link(daemon, 1, daemon, daemon, "")
	theFirst  = caller.Link{PID: 1, PPID: 0, PGID: 1, SID: 1, Start: 1} // its environment is root's
	leaderA   = caller.Link{PID: 1000, PPID: daemon, PGID: 1000, SID: daemon, Start: 10, Tag: tagA, EnvReadable: true}
	starter   = caller.Link{PID: 5000, PPID: 2999, PGID: 5000, SID: 7, Start: 50, EnvReadable: true}
	leaderB   = caller.Link{PID: 2000, PPID: 1200, PGID: 2000, SID: daemon, Start: 20, Tag: tagB, EnvReadable: true}
)

func alive(chain ...caller.Link) caller.Facts {
	return caller.Facts{Alive: true, Complete: true, Chain: chain}
}

// TestDecide has a row for each case that was tried with real processes, and for each kind of tie.
func TestDecide(t *testing.T) {
	cases := []struct {
		name   string
		facts  caller.Facts
		inside bool
		gone   bool
		runs   []string
	}{
		{"the leader", alive(leaderA, theDaemon, theFirst), true, false, []string{handleA}},
		{"a child of the leader", alive(link(3000, 1000, 1000, daemon, tagA), leaderA, theDaemon, theFirst), true, false, []string{handleA}},
		{"deeper", alive(link(3001, 3000, 1000, daemon, tagA), link(3000, 1000, 1000, daemon, tagA), leaderA, theDaemon, theFirst), true, false, []string{handleA}},
		{"a child with an empty environment in its own group", alive(link(3000, 1000, 3000, daemon, ""), leaderA, theDaemon, theFirst), true, false, []string{handleA}},
		{"a setsid child", alive(link(3000, 1000, 3000, 3000, tagA), leaderA, theDaemon, theFirst), true, false, []string{handleA}},
		{"a setsid child with an empty environment", alive(link(3000, 1000, 3000, 3000, ""), leaderA, theDaemon, theFirst), true, false, []string{handleA}},
		{"double fork, leader dead: by group number", alive(link(3000, daemon, 1000, daemon, ""), theDaemon, theFirst), true, false, []string{handleA}},
		{"double fork and setsid: the daemon's stray, named by its tag", alive(link(3000, daemon, 3000, 3000, tagA), theDaemon, theFirst), true, false, []string{handleA}},
		{"double fork, setsid, empty environment: some run", alive(link(3000, daemon, 3000, 3000, ""), theDaemon, theFirst), true, false, nil},
		{"double fork from scv delegate, adopted by pid 1: by tag", alive(link(3000, 1, 3000, 3000, tagB), theFirst), true, false, []string{handleA, handleB}},
		{"the same with an empty environment: nothing is left to see", alive(link(3000, 1, 3000, 3000, ""), theFirst), false, false, nil},
		{"the same, tied by an earlier pass", alive(caller.Link{PID: 1100, PPID: 1, PGID: 1100, SID: 1100, Start: 11, EnvReadable: true}, theFirst), true, false, []string{handleA}},
		{"a child of a process tied earlier", alive(link(3000, 1100, 3000, 3000, ""), caller.Link{PID: 1100, PPID: 1, PGID: 1100, SID: 1100, Start: 11, EnvReadable: true}, theFirst), true, false, []string{handleA}},
		{"in a session made by a process tied earlier and dead", alive(link(3000, 1, 3000, 1100, ""), theFirst), true, false, []string{handleA}},
		{"in a group made by a process tied earlier and dead", alive(link(3000, 1, 1100, 7, ""), theFirst), true, false, []string{handleA}},
		{"in the session of a leader that made one", alive(link(3000, 1, 3000, 1000, ""), theFirst), true, false, []string{handleA}},
		{"an ancestor in the run's group", alive(link(3001, 3000, 3001, 3001, ""), link(3000, 1, 1000, 7, ""), theFirst), true, false, []string{handleA}},
		{"in the run's cgroup", alive(caller.Link{PID: 3000, PPID: 1, PGID: 3000, SID: 3000, Start: 9, EnvReadable: true, Cgroups: []uint64{77}}, theFirst), true, false, []string{handleA}},
		{"in a cgroup below the run's", alive(caller.Link{PID: 3000, PPID: 1, PGID: 3000, SID: 3000, Start: 9, EnvReadable: true, Cgroups: []uint64{99, 77}}, theFirst), true, false, []string{handleA}},
		{"in the cgroup of a run that nobody knows", alive(caller.Link{PID: 3000, PPID: 1, PGID: 3000, SID: 3000, Start: 9, EnvReadable: true, Cgroups: []uint64{0, 99}}, theFirst), false, false, nil},
		{"nested: both runs, outermost first", alive(link(3000, 2000, 2000, daemon, tagB), leaderB, link(1200, 1000, 1000, daemon, tagA), leaderA, theDaemon, theFirst), true, false, []string{handleA, handleB}},
		{"an ancestor's environment carries our tag", alive(link(3000, 2999, 3000, 7, ""), link(2999, 1, 2999, 7, tagA), theFirst), true, false, []string{handleA}},
		{"a tag whose handle is forgotten: some run", alive(link(3000, 1, 3000, 7, ours+"/s9/claude-999999"), theFirst), true, false, nil},
		{"a stray that scv delegate adopted, by whom it was started", alive(link(5200, 5000, 5200, 5200, ""), starter, theFirst), true, false, []string{handleD}},
		{"scv delegate itself", alive(starter, link(2999, 1, 2999, 7, ""), theFirst), false, false, nil},
		{"below a process that has the pid of an earlier scv delegate", alive(link(5200, 5000, 5200, 5200, ""), link(5000, 1, 5000, 7, ""), theFirst), false, false, nil},
		{"a forged tag of another run does not add that run", alive(link(3000, 1000, 1000, daemon, tagB), leaderA, theDaemon, theFirst), true, false, []string{handleA}},
		{"a tag of another instance", alive(link(3000, 1, 3000, 7, "inst2/s1/claude-aaaaaa"), theFirst), false, false, nil},
		{"a longer instance that begins like ours", alive(link(3000, 1, 3000, 7, "inst12/s1/claude-aaaaaa"), theFirst), false, false, nil},
		{"a torn component", alive(link(3000, 1, 3000, 7, ours+"/s1;"+ours+"/s1/;x/"+tagA), theFirst), false, false, nil},
		{"the connector is gone", caller.Facts{Complete: true, Chain: []caller.Link{link(3000, 2, 3000, 7, ""), theFirst}}, true, true, nil},
		{"its pid went to an outsider before the walk", caller.Facts{Complete: true, Chain: []caller.Link{link(4000, 1, 4000, 7, ""), theFirst}}, true, true, nil},
		{"nothing was read", caller.Facts{Alive: true, Complete: true}, true, true, nil},
		{"the chain breaks off", caller.Facts{Alive: true, Chain: []caller.Link{link(3000, 2999, 3000, 7, "")}}, true, false, nil},
		{"its own environment cannot be read", alive(caller.Link{PID: 3000, PPID: 1, PGID: 3000, SID: 7, Start: 9}, theFirst), true, false, nil},
		{"a shell below a root daemon whose environment is closed", alive(link(3000, 2999, 3000, 7, ""), caller.Link{PID: 2999, PPID: 1, PGID: 2999, SID: 2999, Start: 9}, theFirst), false, false, nil},
		{"the leader's pid in a later life", alive(link(1000, 1, 3000, 7, ""), theFirst), false, false, nil},
		{"a tied pid in a later life", alive(link(1100, 1, 3000, 7, ""), theFirst), false, false, nil},
		{"group and session 0 and 1 are nobody's", alive(link(3000, 1, 0, 0, ""), theFirst), false, false, nil},
		{"after a daemon crash: init's child, by group", alive(link(3000, 1, 1000, 7, ""), theFirst), true, false, []string{handleA}},
		{"at, cron, tmux: undecidable, so outside", alive(link(3000, 2999, 3000, 2999, ""), link(2999, 1, 2999, 2999, ""), theFirst), false, false, nil},
		{"a person's shell", alive(link(3000, 2999, 3000, 2999, ""), link(2999, 1, 2999, 2999, ""), theFirst), false, false, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			v := caller.Decide(c.facts, known())
			want := caller.Verdict{Inside: c.inside, Gone: c.gone, Handles: c.runs, Reason: v.Reason}
			if diff := cmp.Diff(want, v); diff != "" {
				t.Errorf("%s (reason %q)", diff, v.Reason)
			}
			if v.Reason == "" {
				t.Error("a verdict without a reason cannot be explained at night")
			}
		})
	}
}

// TestStartingRunIsNobody: a record without a process yet has zeros for its leader and its group, which
// must not match kernel threads or processes of another pid namespace, that have zeros too. Nor may a
// damaged record that names the first process make everyone an insider.
func TestStartingRunIsNobody(t *testing.T) {
	first := caller.Tie{PID: 1, Start: 1}
	for name, r := range map[string]caller.Run{
		"starting": {Handle: handleA, Ties: []caller.Tie{{}}},
		"damaged":  {Handle: handleA, Leader: first, PGID: 1, Ties: []caller.Tie{first}},
	} {
		k := caller.Known{Instance: ours, DaemonPID: daemon, Runs: []caller.Run{r}}
		for _, f := range []caller.Facts{
			alive(link(3000, 0, 0, 0, ""), caller.Link{EnvReadable: true}),
			alive(link(3000, 1, 3000, 1, ""), theFirst),
		} {
			if v := caller.Decide(f, k); v.Inside {
				t.Errorf("a %s record caught a stranger: %s", name, v.Reason)
			}
		}
	}
}

func TestDoors(t *testing.T) {
	outside := caller.Verdict{}
	inside := caller.Verdict{Inside: true, Handles: []string{handleA, handleB}}
	some := caller.Verdict{Inside: true}
	gone := caller.Verdict{Inside: true, Gone: true, Handles: []string{handleA}}
	cases := []struct {
		name string
		v    caller.Verdict
		may  []bool // Outside, OwnRun, Anyone
		owns []string
	}{
		{"outside", outside, []bool{true, true, true}, []string{"", handleA, handleB}},
		{"inside", inside, []bool{false, true, true}, []string{handleB}},
		{"some run", some, []bool{false, true, true}, nil},
		{"gone", gone, []bool{false, false, false}, nil},
	}
	for _, c := range cases {
		for i, door := range []caller.Door{caller.Outside, caller.OwnRun, caller.Anyone} {
			if got := c.v.May(door); got != c.may[i] {
				t.Errorf("%s: May(%d) = %v, want %v", c.name, door, got, c.may[i])
			}
		}
		for _, run := range []string{"", handleA, handleB, "other"} {
			want := slices.Contains(c.owns, run) || c.name == "outside"
			if got := c.v.Owns(run); got != want {
				t.Errorf("%s: Owns(%q) = %v, want %v", c.name, run, got, want)
			}
		}
	}
}
