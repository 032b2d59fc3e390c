package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"scv/daemon/caller"
	"scv/internal/testexe"
)

// again runs a test once more in a process of its own, which does act instead, started by a shell line
// that ends with exec "$@". It returns what that process printed.
func again(t *testing.T, variable, line string, attr *syscall.SysProcAttr, stdin *os.File) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", line, "sh", self, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = []string{variable + "=1", "PATH=" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir()}
	cmd.SysProcAttr = attr
	if stdin != nil {
		cmd.Stdin = stdin
	}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// A child shares neither our session nor our terminal: /dev/tty would let it read what a person types at us.
func TestChildHasNoTerminal(t *testing.T) {
	const variable = "SCV_TEST_TERMINAL"
	if os.Getenv(variable) != "" {
		tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
		if err != nil {
			t.Fatal("not the case that is to be tested: ", err)
		}
		tty.Close()
		c, err := table.Spawn(Spec{Path: "/bin/sh", Args: []string{"-c", "exec 3</dev/tty"}})
		if err != nil {
			t.Fatal(err)
		}
		if exit := wait(t, c); exit.Code == 0 {
			t.Error("the child opened our terminal")
		}
		return
	}
	again(t, variable, `exec "$@"`, &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}, terminal(t))
}

// terminal is the inner end of a new terminal that is nobody's yet.
func terminal(t *testing.T) *os.File {
	t.Helper()
	outer, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	t.Cleanup(func() { outer.Close() })
	number, err := unix.IoctlGetInt(int(outer.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(outer.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	inner, err := os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { inner.Close() })
	return inner
}

func TestChildLeadsItsSession(t *testing.T) {
	c := spawn(t, Spec{}, testexe.Script{{SleepMillis: forever}})
	if p, ok := scan(t).Find(c.ID()); !ok || p.SID != p.PID || p.PGID != p.PID {
		t.Errorf("%+v", p)
	}
}

// What has left its group, its environment and its parent behind is still in the session of its run, and
// that names the run.
func TestSessionNamesTheRunOfACaller(t *testing.T) {
	path, accept := listen(t)
	file := filepath.Join(t.TempDir(), "caller")
	c := spawn(t, Spec{}, testexe.Script{{Spawn: &testexe.Spawn{
		Group: true, EmptyEnv: true, Double: true,
		Script: testexe.Script{{WritePID: file}, {Connect: path}, {SleepMillis: forever}},
	}}, {SleepMillis: forever}})
	conn := accept()
	peer := pidIn(t, file)
	until(t, "it is ours", func() bool { p, _ := scan(t).Find(peer); return p.PPID == os.Getpid() })
	_, facts := Facts(conn)
	v := caller.Decide(facts, caller.Known{Instance: instance, DaemonPID: os.Getpid(), Runs: []caller.Run{{
		Handle: "fake-000001", Leader: caller.Tie{PID: c.ID().PID, Start: c.ID().Start}, PGID: c.ID().PID,
	}}})
	if !v.Inside || !slices.Equal(v.Handles, []string{"fake-000001"}) {
		t.Errorf("%+v of %+v", v, facts)
	}
	stop(t, Run{Leader: c.ID(), Group: c.ID().PID, Known: []ID{peer}})
}

// Who started us may have ignored any signal. The runtime keeps some of them ignored without a word.
func TestChildStartsWithoutWhatWeInherited(t *testing.T) {
	const variable = "SCV_TEST_INHERITED"
	if os.Getenv(variable) != "" {
		mask, ok := ignoredMask()
		if all := uint64(1<<(unix.SIGTTIN-1) | 1<<(unix.SIGTTOU-1) | 1<<(unix.SIGTSTP-1) | 1<<(unix.SIGHUP-1)); !ok || mask&all != all {
			t.Fatalf("not the case that is to be tested: %x %v", mask, ok)
		}
		out, text := outFile(t)
		c, err := table.Spawn(Spec{Path: "/bin/sh", Args: []string{"-c", "exec cat /proc/self/status"}, Env: []string{"PATH=" + os.Getenv("PATH")}, Stdout: out})
		if err != nil {
			t.Fatal(err)
		}
		wait(t, c)
		_, rest, _ := strings.Cut(text(), "\nSigIgn:\t")
		line, _, _ := strings.Cut(rest, "\n")
		if set, err := strconv.ParseUint(line, 16, 64); err != nil || set&(1<<lastSignal-1) != 0 {
			t.Errorf("ignored: %q, %v", line, err)
		}
		if after, _ := ignoredMask(); after != mask {
			t.Errorf("we ignored %x before and %x after", mask, after)
		}
		return
	}
	var names []string
	for sig := syscall.Signal(1); sig <= lastSignal; sig++ {
		if sig != syscall.SIGKILL && sig != syscall.SIGSTOP {
			names = append(names, strconv.Itoa(int(sig)))
		}
	}
	again(t, variable, `trap "" `+strings.Join(names, " ")+`; exec "$@"`, nil, nil)
}
