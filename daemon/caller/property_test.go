package caller_test

import (
	"slices"
	"testing"

	"scv/daemon/caller"

	"pgregory.net/rapid"
)

// The numbers are few, so that links, runs and ties meet often.
var (
	pids   = rapid.IntRange(0, 12)
	starts = rapid.Uint64Range(1, 3)
	tags   = rapid.SampledFrom([]string{"", "", "", tagA, tagB, "other/s/x-1", ours + "/s/unknown-1", ours + "/x"})
)

func drawLink(t *rapid.T) caller.Link {
	return caller.Link{
		PID: pids.Draw(t, "pid"), PPID: pids.Draw(t, "ppid"), PGID: pids.Draw(t, "pgid"), SID: pids.Draw(t, "sid"),
		Start: starts.Draw(t, "start"), Tag: tags.Draw(t, "tag"), EnvReadable: rapid.IntRange(0, 9).Draw(t, "env") > 0,
		Cgroups: rapid.SliceOfN(rapid.Uint64Range(0, 4), 0, 2).Draw(t, "cgroups"),
	}
}

func drawTie(t *rapid.T) caller.Tie {
	return caller.Tie{PID: rapid.IntRange(0, 40).Draw(t, "tied pid"), Start: starts.Draw(t, "tied start")}
}

func drawFacts(t *rapid.T) caller.Facts {
	return caller.Facts{
		Alive:    rapid.IntRange(0, 9).Draw(t, "alive") > 0,
		Complete: rapid.IntRange(0, 9).Draw(t, "complete") > 0,
		Chain:    rapid.SliceOfN(rapid.Custom(drawLink), 1, 4).Draw(t, "chain"),
	}
}

func drawKnown(t *rapid.T) caller.Known {
	k := caller.Known{Instance: ours, DaemonPID: 12}
	for _, handle := range []string{handleA, handleB} {
		k.Runs = append(k.Runs, caller.Run{
			Handle: handle, Leader: drawTie(t), PGID: rapid.IntRange(0, 40).Draw(t, "group"),
			Cgroup: rapid.Uint64Range(0, 9).Draw(t, "run's cgroup"), Ties: rapid.SliceOfN(rapid.Custom(drawTie), 0, 2).Draw(t, "ties"),
		})
	}
	return k
}

// TestMoreEvidenceNeverFrees: a further ancestor, a further tie or a further run never turns inside
// into outside, and never takes a proven run away.
func TestMoreEvidenceNeverFrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, k := drawFacts(t), drawKnown(t)
		before := caller.Decide(f, k)
		switch rapid.IntRange(0, 2).Draw(t, "what is added") {
		case 0:
			f.Chain = append(f.Chain, drawLink(t))
		case 1:
			k.Runs[0].Ties = append(k.Runs[0].Ties, drawTie(t))
		case 2:
			k.Runs = append(k.Runs, caller.Run{Handle: "late-cccccc", Leader: drawTie(t), PGID: pids.Draw(t, "late group")})
		}
		after := caller.Decide(f, k)
		if before.Inside && !after.Inside {
			t.Fatalf("freed: %q, then %q", before.Reason, after.Reason)
		}
		if before.Gone != after.Gone {
			t.Fatalf("gone changed from %v to %v", before.Gone, after.Gone)
		}
	})
}

// TestUnreadableIsInside: whatever else is known, a broken chain, a closed environment, or a descent
// from the daemon is inside; a dead peer is refused at every door.
func TestUnreadableIsInside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, k := drawFacts(t), drawKnown(t)
		v := caller.Decide(f, k)
		ofDaemon := slices.ContainsFunc(f.Chain, func(l caller.Link) bool { return l.PID == k.DaemonPID })
		if (!f.Complete || !f.Chain[0].EnvReadable || ofDaemon) && !v.Inside {
			t.Fatalf("outside: %q", v.Reason)
		}
		if !f.Alive && (v.May(caller.Anyone) || v.May(caller.OwnRun) || v.May(caller.Outside)) {
			t.Fatal("a dead peer got in")
		}
		if v.Inside && v.May(caller.Outside) {
			t.Fatal("inside, and yet the outer door opens")
		}
	})
}

// TestTagNeverOutvotesTheKernel: with any proof at all, the runs do not depend on what tags say.
func TestTagNeverOutvotesTheKernel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, k := drawFacts(t), drawKnown(t)
		bare := f
		bare.Chain = slices.Clone(f.Chain)
		for i := range bare.Chain {
			bare.Chain[i].Tag = ""
		}
		without, with := caller.Decide(bare, k), caller.Decide(f, k)
		if len(without.Handles) > 0 && !slices.Equal(without.Handles, with.Handles) {
			t.Fatalf("a tag changed %v to %v", without.Handles, with.Handles)
		}
	})
}
