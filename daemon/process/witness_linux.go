package process

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

func openPidfd(pid int) (int, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	switch {
	case errors.Is(err, unix.ESRCH):
		return -1, os.ErrProcessDone
	case err != nil:
		return -1, nil // an old kernel, or one that forbids pidfds
	}
	return fd, nil
}

func closePidfd(fd int) {
	if fd >= 0 {
		unix.Close(fd)
	}
}

// ToldToEnd reports whether it has ended by a signal that asks for an orderly end: somebody stopped it before
// it could listen. The status of a zombie can be read by its user; once it is reaped, the kernel still
// tells it by the pidfd (Linux 6.15). False where nobody can tell.
func (w *Witness) ToldToEnd() bool {
	status, known := zombieStatus(w.id)
	if !known {
		status, known = pidfdStatus(w.pidfd)
	}
	if !known {
		return false
	}
	switch unix.WaitStatus(status).Signal() {
	case unix.SIGTERM, unix.SIGINT, unix.SIGHUP:
		return unix.WaitStatus(status).Signaled()
	}
	return false
}

const fieldExit = 49 // field 52 of proc(5), counted as in parseStat

// zombieStatus is the wait status of a process that has ended and is not reaped.
func zombieStatus(id ID) (status uint32, known bool) {
	var buf [2048]byte
	line, err := readInto("/proc/"+strconv.Itoa(id.PID)+"/stat", buf[:])
	if err != nil {
		return 0, false
	}
	p, _, err := parseStat(line)
	if err != nil || p.Start != id.Start || !p.Zombie() {
		return 0, false
	}
	field := bytes.Fields(line[bytes.LastIndexByte(line, ')')+1:])
	if len(field) <= fieldExit {
		return 0, false
	}
	n, err := strconv.ParseUint(string(field[fieldExit]), 10, 32)
	return uint32(n), err == nil
}

// pidfdInfo is the kernel's struct pidfd_info, its first published size.
type pidfdInfo struct {
	Mask, Cgroup             uint64
	PID, TGID, PPID          uint32
	RUID, RGID, EUID, EGID   uint32
	SUID, SGID, FSUID, FSGID uint32
	Exit                     int32
}

const (
	getInfo  = 0xC040FF0B // PIDFD_GET_INFO for 64 bytes
	infoExit = 1 << 3     // PIDFD_INFO_EXIT
)

func pidfdStatus(fd int) (status uint32, known bool) {
	if fd < 0 {
		return 0, false
	}
	info := pidfdInfo{Mask: infoExit}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), getInfo, uintptr(unsafe.Pointer(&info)))
	return uint32(info.Exit), errno == 0 && info.Mask&infoExit != 0
}
