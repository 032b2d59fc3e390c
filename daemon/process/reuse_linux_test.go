package process

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
)

// The kernel is made to give a recorded pid to a decoy, also within the same tick, where the start time
// cannot tell the two apart.
func TestPidUsedAgain(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip("no sleep")
	}
	spec := Spec{Path: sleep, Args: []string{"60"}}
	for _, sameTick := range []bool{false, true} {
		recorded, decoy := forceReuse(t, spec, sameTick)
		id := decoy.ID()
		if recorded.Alive() || recorded.Is(id) {
			t.Errorf("same tick %v: %+v is taken for %+v", sameTick, id, recorded)
		}
		stop(t, Run{Leader: recorded, Group: recorded.PID, Known: []ID{recorded}})
		if !id.Alive() {
			t.Errorf("same tick %v: the decoy was killed", sameTick)
		}
		stop(t, Run{Leader: id, Group: id.PID})
		wait(t, decoy)
	}
}

// forceReuse runs a process to its end and another one with its pid.
func forceReuse(t *testing.T, spec Spec, sameTick bool) (recorded ID, decoy *Child) {
	t.Helper()
	if self, err := Self(); err != nil || self.Serial == 0 && sameTick {
		t.Skip("this kernel does not number its processes")
	}
	for range 500 { // others take pids too, and the tick must fit
		first, err := table.Spawn(spec)
		if err != nil {
			t.Fatal(err)
		}
		recorded = first.ID()
		if err := signalProcess(recorded, 9); err != nil {
			t.Fatal(err)
		}
		wait(t, first)
		if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(recorded.PID-1)), 0); err != nil {
			t.Skip("cannot choose pids: ", err)
		}
		second, err := table.Spawn(spec)
		if err != nil {
			t.Fatal(err)
		}
		id := second.ID()
		if id.PID == recorded.PID && (id.Start == recorded.Start) == sameTick {
			return recorded, second
		}
		if err := signalProcess(id, 9); err != nil {
			t.Fatal(err)
		}
		wait(t, second)
	}
	t.Skip("the pid could not be forced")
	return ID{}, nil
}
