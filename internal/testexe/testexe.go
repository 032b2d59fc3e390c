// Package testexe gives tests fake programs, which follow a script given as data. Only tests come in here.
//
//	func TestMain(m *testing.M) { testexe.Run(); code := m.Run(); testexe.Tidy(); os.Exit(code) }
//
//	path, args := testexe.Command(testexe.Script{{IgnoreTerm: true}, {WritePID: ready}, {SleepMillis: 60_000}})
//
// The script travels in the arguments, not in the environment, so that a child with an empty
// environment works too.
package testexe

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

// marker is what the first argument of a test binary that is to be a fake program begins with; after a colon comes
// the root's pid.
const marker = "scv-testexe-script"

// lifetime bounds every fake program, so that a failed test leaves nothing behind for long.
const lifetime = 2 * time.Minute

// Exit codes of a fake program that went wrong.
const (
	ExitScript   = 96 // the script is not valid or a step failed
	exitLifetime = 97
	exitRootGone = 98
)

// Script is what a fake program does, in order. After the last step it exits with 0.
type Script []Step

// Step is one thing to do; exactly one of its fields is set.
type Step struct {
	Print       string `json:",omitzero"` // a line to stdout
	PrintErr    string `json:",omitzero"` // a line to stderr
	PrintArgs   bool   `json:",omitzero"` // the arguments after the script, one a line, to stdout
	PrintEnv    string `json:",omitzero"` // NAME=value or NAME (unset) to stdout
	SetEnv      string `json:",omitzero"` // NAME=value, for what is spawned or executed after
	WriteBytes  int    `json:",omitzero"` // so many bytes to stdout, in lines of 64
	ReadAll     bool   `json:",omitzero"` // reads stdin to its end
	ReadLine    bool   `json:",omitzero"` // reads one line of stdin, byte by byte
	Echo        bool   `json:",omitzero"` // copies stdin to stdout, to its end
	WritePID    string `json:",omitzero"` // own pid into this file, made whole
	WriteFile   *File  `json:",omitzero"` // made whole
	WaitFile    string `json:",omitzero"` // until this file exists
	Connect     string `json:",omitzero"` // to this Unix socket, held open to the end
	SleepMillis int    `json:",omitzero"`
	IgnoreTerm  bool   `json:",omitzero"`
	OnTerm      *int   `json:",omitzero"` // exit with this code on SIGTERM
	CloseOutput bool   `json:",omitzero"` // stdout and stderr
	Spawn       *Spawn `json:",omitzero"`
	WaitAll     bool   `json:",omitzero"` // for the children spawned plainly
	ACP         *ACP   `json:",omitzero"` // speaks that protocol until stdin ends
	Exec        Script `json:",omitzero"` // becomes this script: same pid, new program
	KillSelf    bool   `json:",omitzero"` // by SIGKILL
	Exit        *int   `json:",omitzero"`
}

// File is a file to write.
type File struct{ Path, Text string }

// Spawn starts another fake program, which inherits stdout and stderr.
type Spawn struct {
	Script   Script
	Setsid   bool     `json:",omitzero"` // in a session of its own
	Group    bool     `json:",omitzero"` // in a process group of its own
	EmptyEnv bool     `json:",omitzero"` // as env -i
	Env      []string `json:",omitzero"` // exactly this
	Double   bool     `json:",omitzero"` // by a process in between that exits at once
	Times    int      `json:",omitzero"` // 0 is once
}

// Command is how to start a fake program.
func Command(script Script) (path string, args []string) {
	data, err := json.Marshal(script)
	if err != nil {
		panic("cannot encode a script: " + err.Error())
	}
	return players.find(), []string{fmt.Sprint(marker, ":", root), string(data)}
}

// Install puts a fake program called name into a folder, for tests that find programs by name, and
// returns its path. Arguments it is given reach PrintArgs.
func Install(t testing.TB, dir, name string, script Script) string {
	t.Helper()
	path, args := Command(script)
	line := []string{"exec", quote(path)}
	for _, arg := range args {
		line = append(line, quote(arg))
	}
	text := "#!/bin/sh\n" + strings.Join(line, " ") + " \"$@\"\n"
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
		t.Fatalf("cannot install a fake program: %v", err)
	}
	return file
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// Code is for the fields that hold an exit code.
func Code(n int) *int { return &n }

// Run makes this process a fake program and never returns, if it was started as one; else it ties this process to
// the test run that it is a part of. It belongs at the very top of TestMain.
func Run() {
	if len(os.Args) < 3 || os.Args[1] != marker && !strings.HasPrefix(os.Args[1], marker+":") {
		takeRoot()
		return
	}
	time.AfterFunc(lifetime, func() { exit(exitLifetime) })
	root = rootOf(os.Args[1])
	follow(func() { exit(exitRootGone) })
	var script Script
	if err := json.Unmarshal([]byte(os.Args[2]), &script); err != nil {
		fail("cannot read the script", err)
	}
	p := &program{args: os.Args[3:]}
	for i, step := range script {
		if err := p.do(step); err != nil {
			fail(fmt.Sprintf("step %d failed", i), err)
		}
	}
	exit(0)
}

func fail(what string, err error) {
	fmt.Fprintf(os.Stderr, "testexe: %s: %v\n", what, err)
	exit(ExitScript)
}

// exit ends at once. os.Exit would wait a second for late reports of the race detector.
func exit(code int) { syscall.Exit(code) }
