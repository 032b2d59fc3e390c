package process

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"scv/internal/testexe"
)

// outFile is a file for a child's output and a way to read it.
func outFile(t *testing.T) (*os.File, func() string) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, func() string {
		b, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
}

func wait(t *testing.T, c *Child) Exit {
	t.Helper()
	exit, err := c.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return exit
}

func TestExitIsReported(t *testing.T) {
	for name, tc := range map[string]struct {
		script testexe.Script
		want   Exit
	}{
		"zero":   {testexe.Script{{Print: "x"}}, Exit{Code: 0}},
		"code":   {testexe.Script{{Exit: testexe.Code(11)}}, Exit{Code: 11}},
		"killed": {testexe.Script{{KillSelf: true}}, Exit{Code: -1, Signal: "SIGKILL"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := spawn(t, Spec{}, tc.script)
			if got := wait(t, c); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
			if got := wait(t, c); got != tc.want {
				t.Errorf("asked again: got %+v, want %+v", got, tc.want)
			}
			if c.ID().Alive() {
				t.Error("still alive after Wait")
			}
		})
	}
}

func TestChildGetsExactlyWhatItIsGiven(t *testing.T) {
	t.Setenv("SCV_TEST_CANARY", "inherited")
	out, text := outFile(t)
	dir := t.TempDir()
	c := spawn(t, Spec{Stdout: out, StdinPipe: true, Dir: dir, Env: []string{"ONE=1"}}, testexe.Script{
		{PrintEnv: "SCV_TEST_CANARY"}, {PrintEnv: "ONE"}, {PrintEnv: "PWD"}, {WriteFile: &testexe.File{Path: "here", Text: "x"}}, {Echo: true},
	})
	if _, err := io.WriteString(c.Stdin(), "the task\n"); err != nil {
		t.Fatal(err)
	}
	if err := c.Stdin().Close(); err != nil {
		t.Fatal(err)
	}
	wait(t, c)
	if got, want := text(), "SCV_TEST_CANARY (unset)\nONE=1\nPWD (unset)\nthe task\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := os.Stat(filepath.Join(dir, "here")); err != nil {
		t.Error(err)
	}
}

func TestNilEnvironmentIsEmpty(t *testing.T) {
	t.Setenv("SCV_TEST_CANARY", "inherited")
	out, text := outFile(t)
	wait(t, spawn(t, Spec{Stdout: out}, testexe.Script{{PrintEnv: "SCV_TEST_CANARY"}}))
	if got := text(); got != "SCV_TEST_CANARY (unset)\n" {
		t.Errorf("got %q", got)
	}
}

// A child must not hold our store, lock or sockets open: it may outlive us.
func TestChildInheritsNoDescriptors(t *testing.T) {
	held, err := os.Create(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	ready := filepath.Join(t.TempDir(), "ready")
	c := spawn(t, Spec{StdinPipe: true}, testexe.Script{{WritePID: ready}, {SleepMillis: forever}})
	id := pidIn(t, ready)
	fds, err := filepath.Glob("/proc/" + strings.TrimPrefix(id.String(), "process ") + "/fd/*")
	if err != nil || len(fds) < 3 {
		t.Fatalf("cannot list descriptors: %v %v", fds, err)
	}
	for _, fd := range fds {
		if to, _ := os.Readlink(fd); to == held.Name() {
			t.Errorf("%s holds %s", fd, to)
		}
	}
	if id != c.ID() {
		t.Errorf("child says %v, Spawn says %v", id, c.ID())
	}
}

func TestStdinOfAChildThatEndedIsClosed(t *testing.T) {
	c := spawn(t, Spec{StdinPipe: true}, testexe.Script{{Exit: testexe.Code(0)}})
	wait(t, c)
	if _, err := io.WriteString(c.Stdin(), "late"); err == nil {
		t.Error("a write after the end succeeded")
	}
}

func TestBadSpecsAreRefused(t *testing.T) {
	for name, spec := range map[string]Spec{
		"relative":  {Path: "true"},
		"missing":   {Path: "/does/not/exist", StdinPipe: true},
		"folder":    {Path: "/"},
		"no folder": {Path: "/bin/true", Dir: "/does/not/exist"},
	} {
		if c, err := table.Spawn(spec); err == nil {
			_, _ = c.Wait()
			t.Errorf("%s: started", name)
		}
	}
	for pid := range table.spawned {
		t.Errorf("remembered: %v", pid)
	}
}
