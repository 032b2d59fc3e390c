package process

import (
	"path/filepath"
	"strings"
)

// A run gets a cgroup v2 of its own where one can be made. Whatever its processes do to their group, session,
// environment and parents, what they start is in it, and one write ends all of them. It is a net and no
// jail: a process that may write to another cgroup can move itself there.

// Cgroup is the folder of a run's own cgroup. The zero value is none.
type Cgroup struct {
	Path  string // absolute; below the cgroup of who started the run
	Inode uint64 // never used again within a boot; 0 before it was made: then the name alone says whose it is
}

// Of reports whether the folder is, by its name, the one of this run. A damaged record must not name
// another.
func (c Cgroup) Of(instance, handle string) bool {
	return handle != "" && filepath.IsAbs(c.Path) && filepath.Clean(c.Path) == c.Path &&
		filepath.Base(c.Path) == cgroupPrefix(instance)+handle
}

// cgroupPrefix begins the names of an instance's cgroups; the handle follows. What was left behind is
// recognised by it.
func cgroupPrefix(instance string) string { return "scv-" + instance + "-" }

// Cgroups is the folder in which runs get theirs: the cgroup that we are in. "" where none can be made.
type Cgroups string

// maxName is the longest name of a file.
const maxName = 255

// For is where the cgroup of a run is to be made.
func (in Cgroups) For(instance, handle string) Cgroup {
	name := cgroupPrefix(instance) + handle
	if in == "" || handle == "" || len(name) > maxName || strings.Contains(name, "/") {
		return Cgroup{}
	}
	return Cgroup{Path: filepath.Join(string(in), name)}
}
