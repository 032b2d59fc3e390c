//go:build !linux

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// flockHolder cannot be told here; whether the file can be looked at can.
func flockHolder(path string) (pid int, known bool, err error) {
	_, err = os.Stat(path)
	return 0, false, err
}

func readOnly(s unix.Statfs_t) bool { return s.Flags&unix.MNT_RDONLY != 0 }

// lookAtMachine says what this system cannot do.
func (p *patient) lookAtMachine() []finding {
	return []finding{{
		"subreaper", shaky, "this system has none: what an agent leaves behind can escape, and what a crash leaves running is not found again",
		"look for leftovers yourself after a crash",
	}}
}
