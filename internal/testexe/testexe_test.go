package testexe

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	Run()
	code := m.Run()
	Tidy()
	os.Exit(code)
}

// start runs a script to its end, with input, and returns its stdout, stderr and how it ended.
func start(t *testing.T, input string, script Script, more ...string) (stdout, stderr string, state *os.ProcessState) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	path, args := Command(script)
	cmd := exec.CommandContext(ctx, path, append(args, more...)...)
	var out, errs strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &errs
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState
}

func TestStepsHappenInOrder(t *testing.T) {
	t.Setenv("TESTEXE_ONE", "1")
	file := filepath.Join(t.TempDir(), "file")
	out, errs, state := start(t, "first\nsecond\n", Script{
		{Print: "a"},
		{PrintErr: "b"},
		{PrintArgs: true},
		{PrintEnv: "TESTEXE_ONE"},
		{PrintEnv: "TESTEXE_TWO"},
		{SetEnv: "TESTEXE_TWO=2"},
		{PrintEnv: "TESTEXE_TWO"},
		{WriteFile: &File{Path: file, Text: "x"}},
		{WaitFile: file},
		{ReadLine: true},
		{Echo: true},
		{WriteBytes: 3},
		{CloseOutput: true},
		{Exit: Code(5)},
	}, "arg 1", "arg 2")
	want := "a\narg 1\narg 2\nTESTEXE_ONE=1\nTESTEXE_TWO (unset)\nTESTEXE_TWO=2\nsecond\nxxx"
	if out != want || errs != "b\n" || state.ExitCode() != 5 {
		t.Errorf("got %q, %q, %v", out, errs, state)
	}
}

func TestSpawnedProgramsInheritOutput(t *testing.T) {
	t.Setenv("TESTEXE_ONE", "1")
	child := Script{{PrintEnv: "TESTEXE_ONE"}}
	for name, tc := range map[string]struct {
		spawn Spawn
		want  string
	}{
		"plain":       {Spawn{Script: child}, "TESTEXE_ONE=1\n"},
		"twice":       {Spawn{Script: child, Times: 2}, "TESTEXE_ONE=1\nTESTEXE_ONE=1\n"},
		"env -i":      {Spawn{Script: child, EmptyEnv: true, Setsid: true}, "TESTEXE_ONE (unset)\n"},
		"given":       {Spawn{Script: child, Env: []string{"TESTEXE_ONE=2"}, Group: true}, "TESTEXE_ONE=2\n"},
		"double fork": {Spawn{Script: child, Double: true}, "TESTEXE_ONE=1\n"},
	} {
		if out, errs, _ := start(t, "", Script{{Spawn: &tc.spawn}, {WaitAll: true}}); out != tc.want || errs != "" {
			t.Errorf("%s: got %q, %q", name, out, errs)
		}
	}
}

func TestExecKeepsArguments(t *testing.T) {
	if out, _, _ := start(t, "", Script{{Exec: Script{{PrintArgs: true}}}}, "x"); out != "x\n" {
		t.Errorf("got %q", out)
	}
}

func TestKillSelf(t *testing.T) {
	_, _, state := start(t, "", Script{{KillSelf: true}})
	if status, ok := state.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		t.Errorf("ended otherwise: %v", state)
	}
}

func TestBrokenScriptsFailLoudly(t *testing.T) {
	for name, script := range map[string]Script{"empty step": {{}}, "no input": {{ReadLine: true}}, "no socket": {{Connect: "/does/not/exist"}}} {
		if _, errs, state := start(t, "", script); state.ExitCode() != ExitScript || errs == "" {
			t.Errorf("%s: %q, %v", name, errs, state)
		}
	}
}

func TestInstalledProgramTakesArguments(t *testing.T) {
	dir := t.TempDir()
	path := Install(t, dir, "it's an agent", Script{{Print: "it's"}, {PrintArgs: true}})
	out, err := exec.CommandContext(t.Context(), path, "--flag", "a b").CombinedOutput()
	if err != nil || string(out) != "it's\n--flag\na b\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// A run of tests that is killed takes along what it started, and what that started.
func TestNothingOutlivesItsRoot(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	forever := Script{{IgnoreTerm: true}, {WritePID: file("grandchild")}, {SleepMillis: 60_000}}
	// The root is a process that only waits: nothing of a test runs in it.
	sleeper, args := Command(Script{{ReadAll: true}})
	dies := exec.CommandContext(t.Context(), sleeper, args...)
	stdin, err := dies.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := dies.Start(); err != nil {
		t.Fatal(err)
	}
	old := root
	root = dies.Process.Pid
	path, args := Command(Script{
		{Spawn: &Spawn{Script: forever, Setsid: true, EmptyEnv: true, Double: true}}, {WritePID: file("child")}, {SleepMillis: 60_000},
	})
	root = old
	child := exec.CommandContext(t.Context(), path, args...)
	printed, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=TestHelperSleeps", "-test.v")
	again.Env = append(os.Environ(), helperVariable+"="+file("again"), RootVariable+"="+strconv.Itoa(dies.Process.Pid))
	if err := again.Start(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"child", "grandchild", "again"} {
		for end := time.Now().Add(20 * time.Second); !exists(file(name)); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("no %s", name)
			}
		}
	}
	stdin.Close()
	began := time.Now()
	if err := dies.Wait(); err != nil {
		t.Fatal(err)
	}
	// The grandchild holds the other end, too. By itself it would end after two minutes.
	if _, err := io.Copy(io.Discard, printed); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("they lived on for %v", took)
	}
	if err := child.Wait(); child.ProcessState.ExitCode() != exitRootGone {
		t.Errorf("the child: %v", err)
	}
	if err := again.Wait(); again.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("the test binary: %v", err)
	}
}

const helperVariable = "TESTEXE_HELPER"

// TestHelperSleeps is a test binary that another test starts.
func TestHelperSleeps(t *testing.T) {
	file := os.Getenv(helperVariable)
	if file == "" {
		t.Skip("it is a part of another test")
	}
	if err := writeWhole(file, strconv.Itoa(os.Getpid())); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Minute)
}
