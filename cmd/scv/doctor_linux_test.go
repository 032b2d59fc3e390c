package main

import (
	"os"
	"strings"
	"testing"

	"scv/daemon/process"
	"scv/wire"
)

func TestHolderIn(t *testing.T) {
	const list = `1: POSIX  ADVISORY  WRITE 100 08:01:42 0 EOF
2: FLOCK  ADVISORY  WRITE 4242 08:01:131073 0 EOF
2: -> FLOCK  ADVISORY  WRITE 99 08:01:77 0 EOF
3: FLOCK  ADVISORY  WRITE -1 08:01:55 0 EOF
`
	for inode, want := range map[uint64]int{131073: 4242, 31073: 0, 42: 0, 77: 0, 55: 0} {
		if got := holderIn(list, inode); got != want {
			t.Errorf("inode %d is held by %d, want %d", inode, got, want)
		}
	}
}

// Runs whose agents are in no cgroup of theirs are counted; those without a process are not.
func TestDoctorCountsRunsWithoutCgroup(t *testing.T) {
	if _, err := process.LookForCgroups(os.Getpid()); err != nil {
		t.Skip("nothing was tested: ", err)
	}
	f := newFake(t)
	var runs []wire.DelegationInfo
	f.onControl(func(c wire.Command) (wire.DaemonStatus, error) {
		status := wire.DaemonStatus{Version: "1.2.3", PID: uint32(os.Getpid())}
		if ask, ok := c.(wire.DelegationsCommand); ok && ask.All {
			status.Delegations.Entries = runs
		}
		return status, nil
	})
	if out := at(t, f.home).scv("doctor").out; !strings.Contains(out, "each run has one of its own, in /") {
		t.Errorf("without runs: %s", out)
	}
	runs = []wire.DelegationInfo{
		{Handle: "fake-000001", PID: uint32(os.Getpid()), Processes: 1},
		{Handle: "fake-000002", PID: uint32(os.Getpid()), Processes: 0},
		{Handle: "fake-000003", Processes: 0},
	}
	if out := at(t, f.home).scv("doctor").out; !strings.Contains(out, "1 of 1 runs have no cgroup of their own") {
		t.Errorf("with a run in no cgroup: %s", out)
	}
}
