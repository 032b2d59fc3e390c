package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
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
	return []finding{lookAtProcesses(), lookAtSubreaper(), lookAtCgroup("/sys/fs/cgroup", "/proc/self/cgroup")}
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
	return finding{"subreaper", fine, "what an agent leaves behind falls to the daemon", ""}
}

// lookAtCgroup tells of cgroups, which this release does not need: nothing is wrong without.
func lookAtCgroup(root, own string) finding {
	const unused = "; this release finds the processes of a run without"
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err != nil {
		return finding{"cgroup", fine, "no cgroup v2 here" + unused, ""}
	}
	text, err := os.ReadFile(own)
	_, path, ok := bytes.Cut(bytes.TrimSpace(text), []byte("0::"))
	if err != nil || !ok {
		return finding{"cgroup", fine, "cgroup v2 is here, ours is unknown" + unused, ""}
	}
	may := "may not"
	if unix.Access(filepath.Join(root, string(path)), unix.W_OK) == nil {
		may = "may"
	}
	return finding{"cgroup", fine, fmt.Sprintf("cgroup v2 is here and you %s make groups in yours%s", may, unused), ""}
}
