// Package process is the one room that spawns, scans, signals and reaps. Nothing else in SCV starts a
// program or sends a signal, so that one set of rules holds everywhere:
//
//   - A process is named by its pid, its start time and the boot (ID). A bare pid is never trusted.
//   - Nothing is signalled that is not proven ours, never a pid of 1 or less, never ourselves or our group.
//   - Spawning and reaping exclude each other by one lock, and only zombies that were not spawned here
//     are swept up, by their pid: a sweep can never take the exit status of a spawned child.
//
// The rooms that own runs (delegation, turn, the scv delegate command) come in here; so does transport,
// to learn who is calling. It knows no store and no bus.
//
// Linux is the real thing. On macOS processes are read by sysctl and signalled by pid after a check of
// their identity; there is no subreaper, and identities do not outlive the daemon, since the boot is not
// named there. That part builds and vets but has never been run.
package process
