package process

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"scv/internal/clock"
)

// From <sys/proc.h>.
const (
	flagExec    = 0x4000   // P_EXEC: has called exec
	stateLetter = "?IRSTZ" // by P_stat: SIDL 1 to SZOMB 5
)

// image tells one program of a process from the next: whether it has called exec, and its name. An
// exec from one program to another of the same name goes unseen. All zero for a zombie.
type image [3]uint64

// readStat is readProc: there is no serial to save.
func readStat(pid int) (Proc, image, error) { return readProc(pid) }

// readProc reads one process without its tag. os.ErrProcessDone when it is gone.
func readProc(pid int) (Proc, image, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	switch {
	case errors.Is(err, unix.EIO) || errors.Is(err, unix.ESRCH): // EIO: an empty answer
		return Proc{}, image{}, os.ErrProcessDone
	case err != nil:
		return Proc{}, image{}, err
	}
	p := Proc{
		ID:   ID{PID: int(k.Proc.P_pid), Start: uint64(k.Proc.P_starttime.Nano() / 1000), Boot: clock.BootID()},
		PPID: int(k.Eproc.Ppid), PGID: int(k.Eproc.Pgid), State: '?',
	}
	if n := int(k.Proc.P_stat); n > 0 && n < len(stateLetter) {
		p.State = stateLetter[n]
	}
	if p.SID, err = unix.Getsid(pid); err != nil {
		p.SID = 0 // gone, or of another user
	}
	if p.Zombie() {
		return p, image{}, nil
	}
	name := k.Proc.P_comm[:16]
	p.Name, _, _ = strings.Cut(string(name), "\x00")
	return p, image{uint64(k.Proc.P_flag&flagExec) | 1, binary.NativeEndian.Uint64(name), binary.NativeEndian.Uint64(name[8:])}, nil
}

// lookupSerial is 0: there are none.
func lookupSerial(int) (uint64, error) { return 0, nil }

// ownTag is readTag: the kernel shows only the environments of our own user anyway.
func ownTag(pid int) (string, bool) { return readTag(pid) }

// readTag is SCV_PARENT in the initial environment of a process, "" without one; false when that may
// not be read or the process is gone. The kernel answers with the number of arguments, the path of the
// program, padding, the arguments and then the environment, each ended by a zero.
func readTag(pid int) (string, bool) {
	raw, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil || len(raw) < 4 {
		return "", false
	}
	argc := int(binary.NativeEndian.Uint32(raw))
	_, rest, _ := bytes.Cut(raw[4:], []byte{0})
	rest = bytes.TrimLeft(rest, "\x00")
	for range argc {
		var ok bool
		if _, rest, ok = bytes.Cut(rest, []byte{0}); !ok {
			return "", false
		}
	}
	for v := range bytes.SplitSeq(rest, []byte{0}) {
		if tag, ok := bytes.CutPrefix(v, []byte(tagVariable+"=")); ok {
			return string(tag), true
		}
	}
	return "", true
}

// listPIDs is every process there is now.
func listPIDs() ([]int, error) {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	pids := make([]int, 0, len(all))
	for _, k := range all {
		pids = append(pids, int(k.Proc.P_pid))
	}
	return pids, nil
}

// Neighbour is always true: there are no pid namespaces.
func Neighbour(int) bool { return true }
