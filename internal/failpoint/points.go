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
	StoreMake         = "store.make"   // a commit to a store that is made, or brought to a newer schema
	StoreRename       = "store.rename" // a new file takes the place of the store, or of a copy of it
	SpawnBefore       = "spawn.before" // of an agent's process
	SpawnAfter        = "spawn.after"
	Signal            = "signal"      // to a process of a run
	SendBefore        = "send.before" // of a message to a platform
	SendAfter         = "send.after"
	RunFiles          = "run.files" // removal, or replacement by less, of what a run printed
	CgroupMake        = "cgroup.make"
	CgroupKill        = "cgroup.kill" // of all that is in a run's cgroup
	CgroupRemove      = "cgroup.remove"
	SocketRemove      = "socket.remove"
)

// The points of a restart, about in the order of one. They are walked by tests of their own: nothing else
// reaches them.
const (
	RestartOld        = "restart.old"         // the running program is kept
	RestartFile       = "restart.file"        // a small file of the hand-over
	RestartHandover   = "restart.handover"    // the hand-over is agreed
	RestartPlan       = "restart.plan"        // the plan is about to be stored
	RestartAsk        = "restart.ask"         // an installed program is about to be asked what it is
	RestartTry        = "restart.try"         // the new release is tried on a copy
	RestartSwitching  = "restart.switching"   // that its time has come is about to be stored
	RestartSnap       = "restart.snap"        // the store is kept
	RestartExec       = "restart.exec"        // just before the daemon becomes another program
	RestartBoot       = "restart.boot"        // the first act of a start
	RestartBoots      = "restart.boots"       // a start is counted
	RestartMigrate    = "restart.migrate"     // the schema moves, in a build with NewerSchema
	RestartProving    = "restart.proving"     // the first change of the new release
	RestartServing    = "restart.serving"     // the new release serves
	RestartGuard      = "restart.guard"       // the guard begins to watch
	RestartVerdict    = "restart.verdict"     // the verdict is given
	RestartBinaryBack = "restart.binary.back" // the old release is installed again
	RestartStoreBack  = "restart.store.back"  // the store is put back
	RestartOutcome    = "restart.outcome"     // how it ended is about to be stored
	RestartEnd        = "restart.end"         // the hand-over is forgotten
	RestartClear      = "restart.clear"       // and what is left of it
	RestartTold       = "restart.told"        // the owner is about to be told
)

// CredentialSave is where new credentials take the place of old ones: in the hand's process, whose tests
// walk it.
const CredentialSave = "credential.save"

// Restart lists them.
var Restart = []string{
	RestartAsk, RestartOld, RestartFile, RestartHandover, RestartPlan, RestartTry, RestartSwitching, RestartGuard, RestartSnap,
	RestartExec, RestartBoot, RestartBoots, RestartMigrate, RestartProving, RestartServing, RestartVerdict,
	RestartBinaryBack, RestartStoreBack, RestartOutcome, RestartEnd, RestartClear, RestartTold,
}

// All lists the points, for the tests that walk them.
var All = []string{
	StoreCommitBefore, StoreCommitAfter, StoreMake, StoreRename, SpawnBefore, SpawnAfter, Signal,
	SendBefore, SendAfter, RunFiles, CgroupMake, CgroupKill, CgroupRemove, SocketRemove,
}

// The points of files in and out of chats, which tests of their own walk: the local chat carries none.
const (
	MediaKeep   = "media.keep"   // a file that came is about to appear
	MediaCopy   = "media.copy"   // copies of an agent's files are about to be durable; their answer is not
	MediaAside  = "media.aside"  // what an interrupted turn left is put aside
	MediaRemove = "media.remove" // copies that were sent, or what outlived its use
)

// Media lists them.
var Media = []string{MediaKeep, MediaCopy, MediaAside, MediaRemove}

// ServiceFile is where the file of a unit takes its place, in the hand's process.
const ServiceFile = "service.file"

// The faults that a harness must be able to find: each breaks one promise on purpose.
const (
	BrokenSync  = "broken.sync"  // commits are not synced to the disk
	BrokenAck   = "broken.ack"   // changes are acknowledged before they are committed
	BrokenDedup = "broken.dedup" // a message that comes twice is taken twice

	BrokenVersion = "broken.version" // a release says that it is another one
	BrokenAccount = "broken.account" // no account ever connects
	NewerSchema   = "newer.schema"   // no fault: the release has one schema more
)

// Trailer begins a plan of faults at the end of a program's own file, where the builds of tests look for one: so
// one build makes many bad releases.
const Trailer = "\nSCV_FAILPOINTS:"
