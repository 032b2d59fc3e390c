package process

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// maxEnviron bounds the reading of one environment. The kernel takes about 2 MiB of arguments and
// environment; ours are far smaller.
const maxEnviron = 1 << 20

// pidfs is the file system of pidfds since Linux 6.9. Before that all of them shared one inode.
const pidfs = 0x50494446 // PID_FS_MAGIC

// readProc reads one process without its tag. os.ErrProcessDone when it is gone.
func readProc(pid int) (Proc, image, error) {
	serial, err := lookupSerial(pid)
	if err != nil {
		return Proc{}, image{}, err
	}
	// If the pid passes to another process here, start and serial do not fit and name nobody: harmless.
	p, img, err := readStat(pid)
	p.Serial = serial
	return p, img, err
}

func lookupSerial(pid int) (uint64, error) {
	fd, err := opened(func() (int, error) { return unix.PidfdOpen(pid, 0) })
	switch {
	case errors.Is(err, unix.ESRCH):
		return 0, os.ErrProcessDone
	case err != nil:
		return 0, nil // an old kernel, or one that forbids pidfds
	}
	defer closed(fd)
	return serialOf(fd), nil
}

// serialOf is the serial number behind a pidfd, 0 where the kernel has none.
func serialOf(pidfd int) uint64 {
	var fs unix.Statfs_t
	var st unix.Stat_t
	if unix.Fstatfs(pidfd, &fs) != nil || fs.Type != pidfs || unix.Fstat(pidfd, &st) != nil {
		return 0
	}
	return st.Ino
}

// readStat reads what stat tells: everything but the serial and the tag.
func readStat(pid int) (Proc, image, error) {
	var buf [2048]byte // a stat line has at most 52 numbers and a name of 64 bytes
	line, err := readOnce("/proc/"+strconv.Itoa(pid)+"/stat", buf[:])
	if err != nil {
		return Proc{}, image{}, err
	}
	p, img, err := parseStat(line)
	if err == nil && p.PID != pid {
		err = errMalformed
	}
	return p, img, err
}

// ownTag is the tag of a process of our own user; "" for those of others. False when it cannot be told.
func ownTag(pid int) (string, bool) {
	var st unix.Stat_t // the folder belongs to the process's user, also while the files in it are root's
	if err := unix.Stat("/proc/"+strconv.Itoa(pid), &st); err != nil {
		return "", false
	}
	if int(st.Uid) != os.Geteuid() {
		return "", true
	}
	return readTag(pid)
}

// readTag is SCV_PARENT in the initial environment of a process, "" without one; false when that may
// not be read or the process is gone.
func readTag(pid int) (string, bool) {
	buf := environs.Get().(*[]byte)
	defer environs.Put(buf)
	env, err := readInto("/proc/"+strconv.Itoa(pid)+"/environ", *buf)
	if err != nil {
		return "", false
	}
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if tag, ok := bytes.CutPrefix(v, []byte(tagVariable+"=")); ok {
			return string(tag), true // the first one is what getenv finds
		}
	}
	return "", true
}

// environs lends the memory that environments are read into: a look at all processes would ask for a
// megabyte of it, which the first look of a daemon has to wait for.
var environs = sync.Pool{New: func() any {
	buf := make([]byte, 8<<10)
	return &buf
}}

// listPIDs is every process there is now.
func listPIDs() ([]int, error) {
	fd, err := opened(func() (int, error) { return unix.Open("/proc", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, err
	}
	defer closed(fd)
	var names []string
	for buf := make([]byte, 16<<10); ; {
		n, err := unix.ReadDirent(fd, buf)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return nil, err
		}
		if n == 0 && err == nil {
			break
		}
		_, _, names = unix.ParseDirent(buf[:max(n, 0)], -1, names)
	}
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// readOnce is readInto for a file that comes whole in one read, of fewer bytes than buf has.
func readOnce(path string, buf []byte) ([]byte, error) {
	fd, err := opened(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, goneOr(err)
	}
	defer closed(fd)
	for {
		n, err := unix.Read(fd, buf)
		if !errors.Is(err, unix.EINTR) {
			return buf[:max(n, 0)], goneOr(err)
		}
	}
}

// readInto reads a small file of /proc with plain system calls, which cost half of what os.ReadFile
// does here. A vanished process is os.ErrProcessDone.
func readInto(path string, buf []byte) ([]byte, error) {
	fd, err := opened(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, goneOr(err)
	}
	defer closed(fd)
	for n := 0; ; {
		if n == len(buf) {
			if n >= maxEnviron {
				return buf, nil
			}
			buf = append(buf, make([]byte, len(buf))...)
		}
		got, err := unix.Read(fd, buf[n:])
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, goneOr(err)
		case got == 0:
			return buf[:n], nil
		default:
			n += got
		}
	}
}

func goneOr(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// Neighbour reports whether a process is in our pid namespace. One in a container below us is seen in
// the process table too, and may belong to a daemon in there whose home has the same path as ours.
func Neighbour(pid int) bool {
	ours, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return false
	}
	its, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/pid")
	return err == nil && its == ours
}
