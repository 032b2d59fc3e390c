// Package failpoint names every moment at which a crash, an error or a stall could hurt: each commit
// and each effect on the world outside. A build with the tag failpoints can be told to fail at any of
// them; in every other build a point is nothing. The tests that walk all points, and the lint that
// finds an effect without one, are in cmd/scv and internal/archtest. Every room may come in.
package failpoint

// The points. "before" means that nothing has happened yet; "after" that the world has changed and
// nobody has been told.
const (
	StoreCommitBefore = "store.commit.before"
	StoreCommitAfter  = "store.commit.after"
	StoreRename       = "store.rename" // a new file takes the place of the store, or of a copy of it
	SpawnBefore       = "spawn.before" // of an agent's process
	SpawnAfter        = "spawn.after"
	Signal            = "signal"      // to a process of a run
	SendBefore        = "send.before" // of a message to a platform
	SendAfter         = "send.after"
	RunFiles          = "run.files" // removal of what a run printed
	CgroupMake        = "cgroup.make"
	CgroupKill        = "cgroup.kill" // of all that is in a run's cgroup
	CgroupRemove      = "cgroup.remove"
	SocketRemove      = "socket.remove"
)

// All lists the points, for the tests that walk them.
var All = []string{
	StoreCommitBefore, StoreCommitAfter, StoreRename, SpawnBefore, SpawnAfter, Signal,
	SendBefore, SendAfter, RunFiles, CgroupMake, CgroupKill, CgroupRemove, SocketRemove,
}

// The faults that a harness must be able to find: each breaks one promise on purpose.
const (
	BrokenSync  = "broken.sync"  // commits are not synced to the disk
	BrokenAck   = "broken.ack"   // changes are acknowledged before they are committed
	BrokenDedup = "broken.dedup" // a message that comes twice is taken twice
)
