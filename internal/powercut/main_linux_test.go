// Package powercut shows that what the store acknowledged is still there after the power failed. It is
// tests alone: nobody comes in.
//
// A kill does not do: what a process wrote outlives it in the kernel's memory. Here the store lies on an
// ext4 file system of its own, and the power is cut by the kernel's own means for it: from that moment
// nothing more reaches the disk, neither the file's pages nor the journal. What did reach it before is what
// was synced, and single pages that were written out early, in any order. A child process works on the
// store and says what was acknowledged; after the cut the disk is mounted anew, which replays the journal,
// and another child tells what the store holds.
//
// What it cannot show is a disk that loses what it reported as flushed, or that tears a sector.
//
// The tests need root. SCV_POWER_CUTS sets how many cuts, and then it is a failure if they cannot be made;
// SCV_POWER_SEED repeats the work and the moments of a run, as far as the machine's own timing allows.
package powercut

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

const (
	roleEnv   = "SCV_POWERCUT_ROLE"   // makes the test binary a child that is to lose its power
	insideEnv = "SCV_POWERCUT_INSIDE" // set where mounts are seen by nobody else
)

func TestMain(m *testing.M) {
	if role := roles[os.Getenv(roleEnv)]; role != nil {
		time.AfterFunc(childLifetime, func() { syscall.Exit(childTooLate) })
		if err := role(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			syscall.Exit(1)
		}
		syscall.Exit(0) // os.Exit would wait a second for late reports of the race detector
	}
	if os.Geteuid() == 0 && os.Getenv(insideEnv) == "" {
		if code, ok := runInside(); ok {
			os.Exit(code)
		}
	}
	goleak.VerifyTestMain(m)
}

// runInside runs the tests in a mount namespace of their own, so that even when they are killed no mount
// and no loop device outlives them. It is false where that is not allowed.
func runInside() (code int, ok bool) {
	runtime.LockOSThread() // Pdeathsig speaks of the thread
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Env = append(os.Environ(), insideEnv+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return 0, false
	}
	_ = cmd.Wait() // the exit code says it
	return cmd.ProcessState.ExitCode(), true
}

// campaign is how much a run of the tests does.
type campaign struct {
	cuts int
	seed uint64
}

// newCampaign reads what was asked for. It ends the test where no power can be cut.
func newCampaign(t *testing.T) campaign {
	t.Helper()
	c := campaign{cuts: 25, seed: uint64(time.Now().UnixNano() % 1e9)}
	if testing.Short() {
		c.cuts = 5
	}
	if s := os.Getenv("SCV_POWER_CUTS"); s != "" {
		c.cuts = int(number(t, "SCV_POWER_CUTS", s))
	}
	if s := os.Getenv("SCV_POWER_SEED"); s != "" {
		c.seed = number(t, "SCV_POWER_SEED", s)
	}
	if os.Geteuid() != 0 {
		cannot(t, "only root may mount a disk to cut its power")
	}
	t.Logf("seed %d (SCV_POWER_SEED=%d repeats it)", c.seed, c.seed)
	return c
}

// cannot skips the test, or fails it where the cuts were asked for by name.
func cannot(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("SCV_POWER_CUTS") != "" {
		t.Fatal("cannot cut the power, as SCV_POWER_CUTS asks: " + why)
	}
	t.Skip("power cuts are NOT tested here: " + why)
}

func number(t *testing.T, name, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil || n == 0 {
		t.Fatalf("%s must be a number greater than 0, not %q", name, text)
	}
	return n
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
