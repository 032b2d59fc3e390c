package process

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The kernel is made to give a recorded pid to a decoy, again and again, in a pid namespace where nobody else takes
// pids; some of the time within the same tick, where the start time cannot tell the two apart.
func TestPidUsedAgain(t *testing.T) {
	const variable = "SCV_TEST_REUSE"
	if os.Getenv(variable) != "" {
		n, err := strconv.Atoi(os.Getenv("SCV_REUSES"))
		if err != nil {
			t.Fatal(err)
		}
		reuse(t, n)
		return
	}
	n := 50
	if os.Getenv("SCV_LONG") != "" {
		n = 1000
	}
	alone := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS}
	probe := exec.CommandContext(t.Context(), "/bin/sh", "-c", "mount --make-rprivate / && mount -t proc proc /proc && : >>/proc/sys/kernel/ns_last_pid")
	probe.SysProcAttr = alone
	if out, err := probe.CombinedOutput(); err != nil {
		t.Skipf("nothing was tested: no pid namespace in which pids can be chosen: %v %s", err, out)
	}
	// The shell stays the first process: the test is an ordinary one.
	line := fmt.Sprintf(`mount --make-rprivate / && mount -t proc proc /proc && export SCV_REUSES=%d && "$@"`, n)
	t.Log(again(t, variable, line, alone, nil))
}

// reuse forces n reuses, and expects that no decoy is hit.
func reuse(t *testing.T, n int) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip("no sleep")
	}
	self, err := Self()
	numbered := err == nil && self.Serial != 0
	if !numbered {
		t.Log("this kernel does not number its processes: within one tick nothing tells them apart")
	}
	sameTick, all := 0, 0
	for ; all < n || numbered && sameTick == 0 && all < 20*n; all++ { // a busy machine seldom gets two into a tick
		recorded, decoy := forceReuse(t, Spec{Path: sleep, Args: []string{"60"}})
		id := decoy.ID()
		if id.Start == recorded.Start {
			if id.Serial == 0 {
				stop(t, Run{Leader: id, Group: id.PID})
				wait(t, decoy)
				continue
			}
			sameTick++
		}
		if recorded.Alive() || recorded.Is(id) {
			t.Errorf("%+v is taken for %+v", id, recorded)
		}
		stop(t, Run{Leader: recorded, Group: recorded.PID, Known: []ID{recorded}})
		if err := signalGroup(recorded, recorded.PID, unix.SIGKILL); err == nil {
			t.Error("a stranger's group was signalled")
		}
		if !id.Alive() {
			t.Fatalf("the decoy was killed: %+v, recorded %+v", id, recorded)
		}
		stop(t, Run{Leader: id, Group: id.PID})
		wait(t, decoy)
	}
	t.Logf("%d pids used again, %d of them within one tick", all, sameTick)
	if sameTick == 0 && numbered {
		t.Error("none was within one tick: the test tests too little")
	}
}

// forceReuse runs a process to its end and another one with its pid.
func forceReuse(t *testing.T, spec Spec) (recorded ID, decoy *Child) {
	t.Helper()
	for range 100 {
		first, err := table.Spawn(spec)
		if err != nil {
			t.Fatal(err)
		}
		recorded = first.ID()
		if err := signalProcess(recorded, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		wait(t, first)
		if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(recorded.PID-1)), 0); err != nil {
			t.Fatal(err)
		}
		second, err := table.Spawn(spec)
		if err != nil {
			t.Fatal(err)
		}
		if second.ID().PID == recorded.PID {
			return recorded, second
		}
		stop(t, Run{Leader: second.ID(), Group: second.ID().PID}) // one of our threads took it
		wait(t, second)
	}
	t.Fatal("the pid could not be forced")
	return ID{}, nil
}
