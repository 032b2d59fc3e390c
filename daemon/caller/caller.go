// Package caller decides whether the process at the other end of a connection is inside a delegated
// run, and which doors are open to it. It is a pure decision over facts that daemon/process reads and
// runs that the store knows; everyone in the daemon may come in. It errs on one side only: what cannot
// be read or explained counts as inside.
package caller

// Link is one process of the chain from a peer up to the first process, as read once.
type Link struct {
	PID, PPID, PGID, SID int

	Start       uint64 // field 22 of /proc/pid/stat, in clock ticks since boot
	Tag         string // SCV_PARENT of its initial environment, or ""
	EnvReadable bool
	Cgroups     []uint64 // inodes of the cgroup v2 folders of runs that it is in
}

// Facts is what was read about one peer, when its connection was accepted.
type Facts struct {
	Alive    bool   // its pidfd was still alive after the walk: the walk was about this process
	Complete bool   // the chain reached pid 1 or 0
	Chain    []Link // [0] is the peer itself, then its parent, and so on
}

// Tie names a process for good: pids are reused, so a pid alone proves nothing.
type Tie struct {
	PID   int
	Start uint64 // as Link.Start
}

// Run is one recorded run, also one that has ended but is still on record.
type Run struct {
	Handle string
	Leader Tie    // zero before its process is known
	PGID   int    // its process group: its leader's pid, 0 before it is known
	Cgroup uint64 // inode of its own cgroup v2 folder, 0 without one
	Ties   []Tie  // every other process once tied to it
	Owner  Tie    // the process that started it, unless that is the daemon: what is below it is the run's
}

// Known is what the daemon knows of itself and its runs.
type Known struct {
	Instance  string // the first part of our tags
	DaemonPID int    // no start time: the daemon is alive, so its pid is nobody else's
	Runs      []Run  // outer runs before inner ones
}

// Verdict is the decision about one peer. The zero value is an outsider.
type Verdict struct {
	Inside  bool
	Gone    bool     // nobody can say who it was: every door is closed; Inside too
	Handles []string // the runs it belongs to, outermost first; empty inside means "some run"
	Reason  string   // one phrase for the log and the journal, without text from the peer
}

// Door says who may use a subject or an action.
type Door int

const (
	Outside Door = iota // nobody inside a run: the zero value, so that a forgotten rule is the strict one
	OwnRun              // inside only for the caller's own questions and descendants: ask Owns as well
	Anyone              // also from inside a run
)

// May reports whether the peer may come in by this door.
func (v Verdict) May(d Door) bool {
	switch {
	case v.Gone:
		return false
	case v.Inside:
		return d == OwnRun || d == Anyone
	}
	return true
}

// Run is the handle of the innermost run the peer belongs to, "" when it is outside or in some run.
func (v Verdict) Run() string {
	if len(v.Handles) == 0 {
		return ""
	}
	return v.Handles[len(v.Handles)-1]
}

// Owns reports whether something that run asked for (a question, a nested run) is the peer's own.
// Outside everything is the owner's. Inside a run that cannot be named, nothing is.
func (v Verdict) Owns(run string) bool {
	switch {
	case v.Gone:
		return false
	case v.Inside:
		return run != "" && run == v.Run()
	}
	return true
}
