package caller

import (
	"slices"
	"strings"
)

// Decide says whether a peer is inside a run. Evidence that the kernel vouches for (a process known by
// pid and start time, a group, a session, a cgroup) names the runs. A tag is the peer's own word: it
// always makes it inside, but says which run only where nothing better does, so that a process of
// one run cannot pass as one of another by the environment it gives its child.
func Decide(f Facts, k Known) Verdict {
	if !f.Alive || len(f.Chain) == 0 {
		return Verdict{Inside: true, Gone: true, Reason: "the caller ended before it could be identified"}
	}
	if v, ok := proven(f.Chain, k.Runs); ok {
		return v
	}
	if v, ok := tagged(f.Chain, k); ok {
		return v
	}
	for _, l := range f.Chain {
		if l.PID == k.DaemonPID {
			return Verdict{Inside: true, Reason: "descends from the daemon"}
		}
	}
	if !f.Complete {
		return Verdict{Inside: true, Reason: "its ancestors could not be read"}
	}
	if !f.Chain[0].EnvReadable {
		return Verdict{Inside: true, Reason: "its environment could not be read"}
	}
	return Verdict{Reason: "no tie to a run"}
}

// proven collects the runs that the kernel's own facts tie the chain to.
func proven(chain []Link, runs []Run) (Verdict, bool) {
	v := Verdict{Inside: true}
	for i, l := range slices.Backward(chain) { // outermost ancestor first
		for _, r := range runs {
			why := r.holds(l)
			if why == "" && i > 0 && usable(l.PID) && r.Owner == (Tie{PID: l.PID, Start: l.Start}) {
				why = "descends from the process that started the run"
			}
			if why == "" || slices.Contains(v.Handles, r.Handle) {
				continue
			}
			v.Handles = append(v.Handles, r.Handle)
			v.Reason = why // of the innermost run
		}
	}
	return v, len(v.Handles) > 0
}

// holds says by what the process belongs to the run, or "".
func (r Run) holds(l Link) string {
	id := Tie{PID: l.PID, Start: l.Start}
	switch {
	case usable(l.PID) && id == r.Leader:
		return "descends from the run's leader"
	case usable(l.PID) && slices.Contains(r.Ties, id):
		return "was tied to the run before"
	case r.numbered(l.PGID):
		return "is in a process group of the run"
	case r.numbered(l.SID):
		return "is in a session of the run"
	case r.Cgroup != 0 && slices.Contains(l.Cgroups, r.Cgroup):
		return "is in the run's cgroup"
	}
	return ""
}

// numbered reports whether a group or session number was made by a process of the run. The kernel
// gives a number to nobody else while a group or session still uses it, even after its maker died.
func (r Run) numbered(n int) bool {
	if !usable(n) {
		return false
	}
	made := func(t Tie) bool { return t.PID == n }
	return n == r.PGID || slices.ContainsFunc(r.Ties, made) // a leader made the number PGID
}

// usable excludes the numbers that stand for nobody or for the first process.
func usable(n int) bool { return n > 1 }

// tagged looks for our tag in the environment of the peer and its ancestors. A handle that is no
// longer on record still means inside, in some run.
func tagged(chain []Link, k Known) (Verdict, bool) {
	v := Verdict{Inside: true}
	found := false
	for _, l := range slices.Backward(chain) {
		for handle := range handlesIn(l.Tag, k.Instance) {
			found = true
			onRecord := func(r Run) bool { return r.Handle == handle }
			if slices.ContainsFunc(k.Runs, onRecord) && !slices.Contains(v.Handles, handle) {
				v.Handles = append(v.Handles, handle)
			}
		}
	}
	v.Reason = "carries a tag of this instance"
	return v, found
}

// handlesIn yields the handles of the whole components <instance>/<session>/<handle> of a tag that
// are ours, outermost first.
func handlesIn(tag, instance string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for component := range strings.SplitSeq(tag, ";") {
			parts := strings.Split(component, "/")
			ours := len(parts) == 3 && parts[0] == instance && parts[2] != ""
			if ours && !yield(parts[2]) {
				return
			}
		}
	}
}
