package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"scv/daemon/service"
	"scv/internal/testexe"
)

// TestScripts runs every script of testdata/script against the real binary. A script starts its own
// daemon in $WORK/home with `exec scv run &daemon&` and ends it with SIGTERM, which must exit 0.
func TestScripts(t *testing.T) {
	quick := quickVerbs(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", quick+string(os.PathListSeparator)+env.Getenv("PATH"))
			return setupScript(env)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"eventually": eventually,
			"signal":     signalDaemon,
		},
	})
}

// quickVerbs is a folder with an scv whose daemons are this test binary, and whose other verbs are a plain build: the
// scripts start hundreds of those, and with the race detector each takes three times as long.
func quickVerbs(t *testing.T) string {
	daemon, err := exec.LookPath("scv")
	if err != nil {
		t.Fatal(err)
	}
	text := "#!/bin/sh\nfor word; do [ \"$word\" != run ] || exec '" + daemon + "' \"$@\"; done\nexec '" + builtWith(t, "") + "' \"$@\"\n"
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "scv"), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return folder
}

func setupScript(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, "home")
	env.Setenv("SCV_HOME", home)
	for _, name := range []string{testexe.RootVariable, testexe.RaceVariable} {
		env.Setenv(name, os.Getenv(name))
	}
	env.Defer(func() { endDaemon(home) })
	for path, mode := range map[string]os.FileMode{home: 0o700, filepath.Join(home, "config.toml"): 0o600} {
		if err := os.Chmod(path, mode); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

// endDaemon ends a daemon that a script has left: one that a service manager started is no child of it.
func endDaemon(home string) {
	if h, held := service.HolderOf(home); held {
		_ = syscall.Kill(h.PID, syscall.SIGKILL)
	}
}

// eventually REGEXP PROGRAM ARG... runs a program again and again until it succeeds and its output
// matches: [eventually . scv status] waits for the daemon. It asks ever more seldom: each look is a process.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: eventually regexp program [args...]")
	}
	want, err := regexp.Compile(args[0])
	ts.Check(err)
	pause := 20 * time.Millisecond
	for limit := time.Now().Add(20 * time.Second); ; pause = min(2*pause, 500*time.Millisecond) {
		err := ts.Exec(args[1], args[2:]...)
		if err == nil && want.MatchString(ts.ReadFile("stdout")) {
			return
		}
		if time.Now().After(limit) {
			ts.Fatalf("it never happened: %s (%v)", strings.Join(args, " "), err)
		}
		time.Sleep(pause)
	}
}

// signal NAME sends a signal to the daemon of $SCV_HOME, which this script started: its pid stands in
// its lock.
func signalDaemon(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]os.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "KILL": syscall.SIGKILL}
	if neg || len(args) != 1 || signals[args[0]] == nil {
		ts.Fatalf("usage: signal TERM|INT|KILL")
	}
	pid, err := strconv.Atoi(firstNumber().FindString(ts.ReadFile(filepath.Join(ts.Getenv("SCV_HOME"), "daemon.lock"))))
	ts.Check(err)
	for _, cmd := range ts.BackgroundCmds() {
		if cmd.Process.Pid == pid {
			ts.Check(cmd.Process.Signal(signals[args[0]]))
			return
		}
	}
	ts.Fatalf("no daemon of this script has pid %d", pid)
}
