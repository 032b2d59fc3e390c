package testexe

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	Run()
	os.Exit(m.Run())
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
		if _, errs, state := start(t, "", script); state.ExitCode() != exitScript || errs == "" {
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
