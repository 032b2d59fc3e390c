package process

import (
	"cmp"
	"fmt"
	"os"
)

// maxPID is the largest pid a kernel hands out (Linux: PID_MAX_LIMIT, 4 Mi; others have less). Larger
// numbers come from damaged records, and kill(2) would cut them to 32 bits: 4294967295 becomes -1,
// which means everybody.
const maxPID = 4 << 20

// ID names one process for good. A pid may be used again, hardly ever within one tick of the start time;
// the serial number tells even those apart. Compare by Is, not by ==: a record may lack the serial.
type ID struct {
	PID    int    `json:"pid"`
	Start  uint64 `json:"start"`           // Linux: clock ticks (10 ms) since boot, field 22 of /proc/pid/stat; macOS: microseconds since 1970
	Boot   string `json:"boot"`            // clock.BootID
	Serial uint64 `json:"serial,omitzero"` // inode of its pidfd, never used again within a boot; 0 before Linux 6.9
}

// Is reports whether both name the same process. A serial counts where both have one.
func (id ID) Is(other ID) bool {
	if id.Serial == 0 || other.Serial == 0 {
		id.Serial, other.Serial = 0, 0
	}
	return id == other
}

// String is for logs and messages.
func (id ID) String() string { return fmt.Sprintf("process %d", id.PID) }

// Self is the identity of this process.
func Self() (ID, error) { return Lookup(os.Getpid()) }

// Lookup reads the identity of the process that has this pid now, a zombie too. The error is
// os.ErrProcessDone (errors.Is) when there is none.
func Lookup(pid int) (ID, error) {
	p, _, err := readProc(pid)
	if err != nil {
		return ID{}, fmt.Errorf("cannot read process %d: %w", pid, err)
	}
	return p.ID, nil
}

// Alive reports whether this very process runs: same identity, and not a zombie.
func (id ID) Alive() bool {
	p, _, err := readProc(id.PID)
	return err == nil && p.Is(id) && !p.Zombie()
}

// compareIDs orders by pid, then by age.
func compareIDs(a, b ID) int {
	return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.Start, b.Start))
}

// checkTarget refuses a pid that must never be signalled, whatever a record says.
func checkTarget(pid int) error {
	switch {
	case pid <= 1 || pid > maxPID:
		return fmt.Errorf("cannot signal process %d: not a pid of a run; the record is damaged", pid)
	case pid == os.Getpid():
		return fmt.Errorf("cannot signal process %d: that is this process", pid)
	}
	return nil
}
