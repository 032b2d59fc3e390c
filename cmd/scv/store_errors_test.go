package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"scv/internal/layout"
)

// apart runs the real scv with a home, and holds it to end in time.
func apart(t *testing.T, home string, args ...string) result {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "scv", args...)
	cmd.Env = append(os.Environ(), "SCV_HOME="+home)
	cmd.WaitDelay = time.Second
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	begun := time.Now()
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("scv %q took %v", args, took)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}

// TestStoreErrorsNameACommand: whatever a store tool fails at, the line below the error names a command, and
// that is one which scv takes.
func TestStoreErrorsNameACommand(t *testing.T) {
	t.Parallel()
	sound := newHome(t)
	startDaemon(t, sound).terminate(t)
	raw, err := os.ReadFile(filepath.Join(sound, layout.Store))
	if err != nil {
		t.Fatal(err)
	}
	odd := oddFiles(t, raw)
	for _, tc := range []struct {
		name, home string
		args       []string
	}{
		{"no store", newHome(t), []string{"check"}},
		{"no store", newHome(t), []string{"dump"}},
		{"no store", newHome(t), []string{"backup"}},
		{"no store", newHome(t), []string{"compact"}},
		{"no store", newHome(t), []string{"migrate"}},
		{"no copy", newHome(t), []string{"restore"}},
		{"no such home", "/nothing/here", []string{"compact"}},
		{"taken", sound, []string{"backup", odd["sound"]}},
		{"no folder", sound, []string{"backup", odd["missing"] + "/x.db"}},
	} {
		t.Run(tc.name+" "+tc.args[0], func(t *testing.T) { namesACommand(t, tc.home, append([]string{"store"}, tc.args...)) })
	}
	for name, path := range odd {
		if name == "sound" {
			continue
		}
		for _, tool := range [][]string{{"check"}, {"dump"}, {"restore"}, {"dump", "--diff", odd["sound"]}} {
			t.Run(name+" "+strings.Join(tool[:1], " "), func(t *testing.T) {
				namesACommand(t, sound, append(append([]string{"store"}, tool...), path))
			})
		}
	}
}

// oddFiles are things that have the name of a store, by what is wrong with each.
func oddFiles(t *testing.T, raw []byte) map[string]string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "a folder") // whose name a shell would cut in two
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	odd := map[string]string{}
	name := func(what string) string {
		odd[what] = filepath.Join(folder, strings.ReplaceAll(what, " ", "-")+".db")
		return odd[what]
	}
	for what, content := range map[string][]byte{
		"sound": raw, "empty": {}, "one byte": raw[:1], "4096 bytes": raw[:4096], "8191 bytes": raw[:8191],
		"text": []byte("this is no store"), "zeros": make([]byte, 65536), "one page lost": append(bytes.Clone(raw[:8192]), make([]byte, len(raw)-8192)...),
	} {
		if err := os.WriteFile(name(what), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	newer := bytes.ReplaceAll(raw, []byte("schema"+strconv.Itoa(int(storeSchema()))), []byte("schema9"))
	err := errors.Join(
		os.Mkdir(name("folder"), 0o700), syscall.Mkfifo(name("pipe"), 0o600), os.Symlink("loop.db", name("loop")),
		os.Symlink("nothing", name("dangling")), os.WriteFile(name("newer"), newer, 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	name("missing")
	return odd
}

var commandNamed = regexp.MustCompile(`: (scv .*)$`)

// namesACommand runs a tool that must fail and looks at what it says. A dump of a newer store is none.
func namesACommand(t *testing.T, home string, args []string) {
	t.Helper()
	got := apart(t, home, args...)
	if strings.HasSuffix(args[len(args)-1], "newer.db") && args[1] == "dump" {
		return // its pages can be read, whoever wrote them
	}
	if got.code != exitFailed && got.code != exitDamaged {
		t.Fatalf("%+v", got)
	}
	lines := strings.Split(strings.TrimSpace(got.errOut), "\n")
	found := commandNamed.FindStringSubmatch(lines[len(lines)-1])
	if found == nil || len(lines) < 2 {
		t.Fatalf("no command is named: %+v", got)
	}
	words, err := exec.Command("sh", "-c", "for w in "+strings.TrimPrefix(found[1], "scv ")+`; do printf '%s\0' "$w"; done`).Output()
	if err != nil {
		t.Fatalf("%q is no command line: %v", found[1], err)
	}
	var cmds commands
	parser, err := newParser(&cmds, io.Discard, io.Discard, new(helped))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(sealLiterals(strings.Split(strings.TrimSuffix(string(words), "\x00"), "\x00"))); err != nil {
		t.Errorf("%q is not understood: %v", found[1], err)
	}
}
