package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"scv/daemon/process"
	"scv/internal/layout"
	"scv/wire"
	"scv/wire/bus"
)

// flockHolder is who holds the flock of a file, 0 for nobody. The kernel's list is read: trying the lock
// ourselves could make a daemon that starts just now fail.
func flockHolder(path string) (pid int, known bool, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, false, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	list, err := os.ReadFile("/proc/locks")
	if err != nil || !ok {
		return 0, false, nil
	}
	return holderIn(string(list), stat.Ino), true, nil
}

// holderIn finds an inode in /proc/locks, as "1: FLOCK ADVISORY WRITE 4242 08:01:131073 0 EOF". The
// device is not compared: some file systems show another one there than to stat.
func holderIn(list string, inode uint64) int {
	for entry := range strings.Lines(list) {
		f := strings.Fields(entry)
		if len(f) < 6 || f[1] != "FLOCK" || !strings.HasSuffix(f[5], ":"+strconv.FormatUint(inode, 10)) {
			continue
		}
		if pid, err := strconv.Atoi(f[4]); err == nil && pid > 0 {
			return pid
		}
	}
	return 0
}

func readOnly(s unix.Statfs_t) bool { return s.Flags&unix.ST_RDONLY != 0 }

// lookAtMachine tells what this kernel gives the daemon to keep runs under control.
func (p *patient) lookAtMachine() []finding {
	return []finding{lookAtProcesses(), lookAtSubreaper(), p.lookAtCgroup()}
}

func lookAtProcesses() finding {
	if _, err := os.ReadFile("/proc/1/stat"); err != nil {
		return finding{
			"processes", broke, "those of others are hidden, so the daemon cannot tell who asks and refuses everyone",
			"mount /proc without hidepid, or let this user's group see it",
		}
	}
	return finding{"processes", fine, "can be seen", ""}
}

func lookAtSubreaper() finding {
	var on int32
	if err := unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&on)), 0, 0, 0); err != nil {
		return finding{"subreaper", shaky, "this kernel has none: what an agent leaves behind can escape", "use a kernel of 3.4 or later"}
	}
	return finding{"subreaper", fine, "what an agent leaves behind falls to the daemon, as long as the daemon lives", ""}
}

// lookAtCgroup tells whether runs get a cgroup of their own: below that of the daemon, or, where none runs,
// of one that is started like this command.
func (p *patient) lookAtCgroup() finding {
	pid := int(p.pid)
	if pid == 0 {
		pid = os.Getpid()
	}
	in, err := process.LookForCgroups(pid)
	if err != nil {
		todo := "start the daemon in a cgroup that this user may divide, as systemd gives its units"
		if p.canKeep() {
			todo = "have systemd keep the daemon, which then gives it cgroups: " + p.a.command("start")
		}
		return finding{
			"cgroup", shaky, "runs get no cgroup of their own, so a process that hides from its run outlives a crash of the daemon: " + err.Error(), todo,
		}
	}
	runs, without := p.withoutCgroup()
	if without > 0 {
		return finding{
			"cgroup", shaky, fmt.Sprintf("%d of %d runs have no cgroup of their own: what hides in them outlives a crash of the daemon", without, runs),
			"nothing, if they were started elsewhere or before cgroups could be made; else see " + p.a.command("logs"),
		}
	}
	return finding{"cgroup", fine, "each run has one of its own, in " + string(in), ""}
}

// withoutCgroup counts the runs whose agent is in no cgroup of that run.
func (p *patient) withoutCgroup() (runs, without int) {
	if p.pid == 0 {
		return 0, 0
	}
	var status wire.DaemonStatus
	err := p.a.call(readLimit, func(ctx context.Context, client *bus.Client) (err error) {
		status, err = client.Control(ctx, wire.DelegationsCommand{All: true})
		return err
	})
	if err != nil {
		return 0, 0 // how the daemon is was told before
	}
	instance := layout.Instance(p.home)
	for _, e := range status.Delegations.Entries {
		if e.PID == 0 || e.Processes == 0 {
			continue // it has no process, or none any more
		}
		runs++
		if process.CgroupOf(int(e.PID), instance, e.Handle) == (process.Cgroup{}) {
			without++
		}
	}
	return runs, without
}
