package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestDemo plays each story against a fresh build, so that none can rot.
func TestDemo(t *testing.T) {
	scv, next := filepath.Join(t.TempDir(), "scv"), filepath.Join(t.TempDir(), "scv-next")
	for path, stamp := range map[string]string{scv: "", next: "-X main.version=" + nextVersion} {
		build := exec.Command("go", "build", "-buildvcs=false", "-ldflags", stamp, "-o", path, "../../cmd/scv")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("cannot build scv: %v\n%s", err, out)
		}
	}
	for name, tell := range stories {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", shortTempDir(t))
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			var out bytes.Buffer
			if err := run(ctx, scv, next, &out, tell); err != nil {
				t.Errorf("the demo failed: %v\n%s", err, out.String())
			}
			if left := leftovers(os.Getenv("TMPDIR") + "/scv-demo-"); len(left) > 0 {
				t.Errorf("the demo left processes: %v", left)
			}
			if files, _ := os.ReadDir(os.Getenv("TMPDIR")); len(files) > 0 {
				t.Errorf("the demo left files: %v", files)
			}
		})
	}
}

// TestDemoFails shows that a step that goes wrong fails the demo, and that it clears up all the same.
func TestDemoFails(t *testing.T) {
	scv := filepath.Join(t.TempDir(), "scv")
	t.Setenv("TMPDIR", shortTempDir(t))
	// It starts, stays, and never answers as scv would.
	script := "#!/bin/sh\ncase $1 in run) exec sleep 60;; status) echo '\"state\":\"connected\"';; *) echo odd; exit 7;; esac\n"
	if err := os.WriteFile(scv, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err := run(t.Context(), scv, scv, &out, story)
	if err == nil || !strings.Contains(err.Error(), "exit code 7") {
		t.Errorf("a wrong exit code is not noticed: %v", err)
	}
	if files, _ := os.ReadDir(os.Getenv("TMPDIR")); len(files) > 0 {
		t.Errorf("the demo left files: %v", files)
	}
	if left := leftovers(os.Getenv("TMPDIR") + "/scv-demo-"); len(left) > 0 {
		t.Errorf("the demo left processes: %v", left)
	}
}

func TestLeftovers(t *testing.T) {
	folder := t.TempDir()
	cmd := exec.Command("sleep", "60")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "SCV_HOME=" + folder + "/home"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	found := func() bool { return slices.Contains(leftovers(folder), cmd.Process.Pid) }
	// The environment is the child's own only after its exec, which Start waits for.
	seen := found()
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if !seen && supported() {
		t.Error("a process with the folder in its environment was not found")
	}
	if found() {
		t.Error("a process that has ended was found")
	}
}

// supported reports whether this system lets one process read another's environment.
func supported() bool {
	_, err := os.Stat("/proc/self/environ")
	return err == nil
}

func TestUntilGivesUp(t *testing.T) {
	s := &stage{ctx: t.Context()}
	if err := s.until("nothing", time.Millisecond, func() bool { return false }); err == nil {
		t.Error("a condition that never holds was met")
	}
}

func TestShellLine(t *testing.T) {
	got := shellLine("scv", "confirm", "--timeout", "5m", `Pay $5 for "it"?`, "")
	want := `scv confirm --timeout 5m "Pay \$5 for \"it\"?" ""`
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// shortTempDir is a folder whose path leaves room for a socket's name.
func shortTempDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "d")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
