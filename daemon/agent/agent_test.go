package agent

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// bin is a folder with an executable of each name, and an environment whose PATH it is.
func bin(t *testing.T, names ...string) (dir string, environ []string) {
	t.Helper()
	dir = t.TempDir()
	for _, n := range names {
		if err := os.WriteFile(filepath.Join(dir, n), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir, []string{"PATH=relative:" + t.TempDir() + ":" + dir, "HOME=/home/me", "AWS_SECRET=s3cret", "MY_KEY=k"}
}

func one(t *testing.T, c Command, environ []string) Agent {
	t.Helper()
	a, ok := FromConfig(map[string]Command{"helper": c}, environ).Get("helper")
	if !ok || a.Name() != "helper" {
		t.Fatal("the configured agent is not there")
	}
	return a
}

func owners(prompt string) Task {
	return Task{
		Prompt: prompt, Tools: true, Owner: true, Workspace: "/work/space",
		Env: map[string]string{"SCV_PARENT": "8973cbc5/s/helper-00ff00"},
	}
}

func TestPrepareByStdin(t *testing.T) {
	dir, environ := bin(t, "own")
	a := one(t, Command{Command: []string{"own", "-p"}, Prompt: "stdin", Env: []string{"MY_KEY"}}, environ)
	got, err := a.Prepare(owners("--help\x00\xff me"))
	if err != nil {
		t.Fatal(err)
	}
	want := Run{
		Path:  filepath.Join(dir, "own"),
		Args:  []string{"-p"}, // what the person wrote is nowhere here
		Env:   []string{"HOME=/home/me", "MY_KEY=k", environ[0], "SCV_PARENT=8973cbc5/s/helper-00ff00"},
		Dir:   "/work/space",
		Stdin: "--help\uFFFD\uFFFD me",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPrepareByArg(t *testing.T) {
	_, environ := bin(t, "own")
	plain := one(t, Command{Command: []string{"own", "run"}, Prompt: "arg"}, environ)
	dashed := one(t, Command{Command: []string{"own", "--"}, Prompt: "arg"}, environ)
	for _, c := range []struct {
		name   string
		agent  Agent
		prompt string
		want   []string // nil: refused
		err    error
	}{
		{"last", plain, "hello -x", []string{"run", "hello -x"}, nil},
		{"like an option", plain, "--yolo", nil, ErrLikeOption},
		{"a dash alone", plain, "-", nil, ErrLikeOption},
		{"after --", dashed, "--yolo", []string{"--", "--yolo"}, nil},
		{"longest", plain, strings.Repeat("x", MaxArg), []string{"run", strings.Repeat("x", MaxArg)}, nil},
		{"too long", plain, strings.Repeat("x", MaxArg+1), nil, ErrTooLong},
	} {
		run, err := c.agent.Prepare(owners(c.prompt))
		if !errors.Is(err, c.err) || !slices.Equal(run.Args, c.want) || run.Stdin != "" {
			t.Errorf("%s: %d arguments, stdin %q, error %v", c.name, len(run.Args), run.Stdin, err)
		}
		if err != nil && strings.Contains(err.Error(), "yolo") {
			t.Errorf("%s: the error quotes the message: %v", c.name, err)
		}
	}
}

// A turn must not change the agent that the next turn uses.
func TestPrepareSharesNothing(t *testing.T) {
	_, environ := bin(t, "own")
	command := append(make([]string, 0, 10), "own", "run")
	a := one(t, Command{Command: command, Prompt: "arg"}, environ)
	first, err1 := a.Prepare(owners("first"))
	second, err2 := a.Prepare(owners("second"))
	if err1 != nil || err2 != nil || first.Args[1] != "first" || second.Args[1] != "second" {
		t.Errorf("%v %v, %v %v", first.Args, second.Args, err1, err2)
	}
}

func TestNobodyElseIsServed(t *testing.T) {
	_, environ := bin(t, "own", "claude")
	for _, program := range []string{"own", "claude"} {
		for _, mode := range []string{"stdin", "arg"} {
			a := one(t, Command{Command: []string{program}, Prompt: mode}, environ)
			for _, c := range []struct {
				tools, owner bool
				err          error
			}{{false, false, ErrNoToolFree}, {false, true, ErrNoToolFree}, {true, false, ErrNotOwner}, {true, true, nil}} {
				run, err := a.Prepare(Task{Prompt: "hi", Tools: c.tools, Owner: c.owner})
				if !errors.Is(err, c.err) || (c.err != nil && run.Path != "") {
					t.Errorf("%s %s %+v: %+v %v", program, mode, c, run, err)
				}
			}
			if ToolFree(a) {
				t.Errorf("%s %s counts as tool-free without a proof", program, mode)
			}
		}
	}
}

func TestMissingPrograms(t *testing.T) {
	dir, environ := bin(t, "own", "plain")
	if err := os.Chmod(filepath.Join(dir, "plain"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"gone", "plain", "folder", "./own", "sub/own", "", filepath.Join(dir, "gone")} {
		_, err := one(t, Command{Command: []string{program}}, environ).Prepare(owners("hi"))
		if !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "[agents.helper]") {
			t.Errorf("%q: %v", program, err)
		}
	}
	_, err := one(t, Command{}, environ).Prepare(owners("hi"))
	if !errors.Is(err, ErrNotFound) {
		t.Errorf("no command: %v", err)
	}
	// A program that is installed later is found without a restart.
	if err := os.Chmod(filepath.Join(dir, "plain"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := one(t, Command{Command: []string{"plain"}}, environ).Prepare(owners("hi")); err != nil {
		t.Error(err)
	}
}

// A program in a relative folder of PATH would be one that lies in the daemon's own working folder.
func TestRelativeFoldersOfPathDoNotCount(t *testing.T) {
	dir, _ := bin(t, "own")
	t.Chdir(dir)
	for _, path := range []string{"PATH=.", "PATH=", "PATH=:"} {
		if got, err := LookPath([]string{path})("own"); err == nil {
			t.Errorf("%s finds %q", path, got)
		}
	}
}

func TestEnvironmentIsAnAllowList(t *testing.T) {
	daemon := []string{
		"HOME=/h", "USER=u", "LOGNAME=u", "PATH=/bin", "SHELL=/bin/sh", "LANG=C", "LC_ALL=C", "TERM=xterm", "TZ=UTC",
		"TMPDIR=/t", "XDG_RUNTIME_DIR=/run/user/1", "https_proxy=p", "NO_PROXY=n", "EMPTY=", "WITH=a=b", "MINE=1",
		"SECRET_TOKEN=x", "LD_PRELOAD=x", "SSH_AUTH_SOCK=x", "HOMES=x", "PATHEXT=x", "broken", "=x",
		"NOTIFY_SOCKET=x", "WATCHDOG_USEC=x", "WATCHDOG_PID=x", "LISTEN_FDS=x", "SCV_PARENT=old", "SCV_INSTANCE=x",
	}
	got := Environment(daemon,
		[]string{"MINE", "WITH", "EMPTY", "NOTIFY_SOCKET", "SCV_INSTANCE", "NOT_SET"},
		map[string]string{"SCV_PARENT": "new", "TERM": "dumb"})
	want := []string{
		"EMPTY=", "HOME=/h", "LANG=C", "LC_ALL=C", "LOGNAME=u", "MINE=1", "NO_PROXY=n", "PATH=/bin", "SCV_PARENT=new",
		"SHELL=/bin/sh", "TERM=dumb", "TMPDIR=/t", "TZ=UTC", "USER=u", "WITH=a=b", "XDG_RUNTIME_DIR=/run/user/1",
		"https_proxy=p",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A known program gets its own keys, and no others, without being told.
func TestKnownProgramsGetTheirKeys(t *testing.T) {
	_, environ := bin(t, "codex")
	environ = append(environ, "OPENAI_API_KEY=k", "CODEX_HOME=/c", "ANTHROPIC_API_KEY=no")
	run, err := one(t, Command{Command: []string{"codex", "exec"}}, environ).Prepare(owners("hi"))
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]bool{"OPENAI_API_KEY=k": true, "CODEX_HOME=/c": true, "ANTHROPIC_API_KEY=no": false} {
		if slices.Contains(run.Env, key) != want {
			t.Errorf("%s: want %v", key, want)
		}
	}
}

func TestAnswer(t *testing.T) {
	a := one(t, Command{Command: []string{"own"}}, nil)
	for _, c := range []struct {
		name, out string
		exit      int
		want      string
		err       error
	}{
		{"text", "  hello\n", 0, "hello", nil},
		{"kept", "a\tb\n\nc 是 👩‍💻", 0, "a\tb\n\nc 是 👩‍💻", nil},
		{"colour", "\x1b[1;31mred\x1b[0m", 0, "red", nil},
		{"title and link", "\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b\x1b]8;;\x1b\\", 0, "ab", nil},
		{"short escapes", "\x1b(Ba\x1bMb\x1b=", 0, "ab", nil},
		{"unfinished escape", "a\x1b", 0, "a", nil},
		{"unfinished string", "a\x1b]0;b", 0, "a0;b", nil},
		{"lines of another system", "a\r\nb\rc", 0, "a\nbc", nil},
		{"NUL and C1", "a\x00b\u009bc\u007f", 0, "abc", nil},
		{"invalid UTF-8", "a\xff\xfeb", 0, "a\uFFFDb", nil},
		{"nothing", "", 0, "", ErrNoAnswer},
		{"nothing to see", " \x1b[0m\r\n\x00", 0, "", ErrNoAnswer},
		{"failed", "s3cret", 3, "", ErrUnsuccessful},
		{"killed", "s3cret", -1, "", ErrUnsuccessful},
	} {
		got, err := a.Answer([]byte(c.out), c.exit)
		if got.Text != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %q, %v", c.name, got.Text, err)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: quotes the output: %v", c.name, err)
		}
	}
}

func TestCleanLeavesNothingToObey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{"\x1b", "[", "]", "0", ";", "m", "\x07", "\\", "\xff", "\r", "\n", "\u009b", "P", "a", " "})
		in := strings.Join(rapid.SliceOf(piece).Draw(t, "in"), "")
		got := Clean(in)
		if strings.ContainsAny(got, "\x00\x07\x1b\r\u009b") || !strings.HasPrefix(got, strings.TrimSpace(got)) {
			t.Fatalf("%q became %q", in, got)
		}
		if again := Clean(got); again != got {
			t.Fatalf("%q, cleaned again, is %q", got, again)
		}
	})
}

func TestRegistry(t *testing.T) {
	two := FromConfig(map[string]Command{"b": {Command: []string{"b"}}, "a": {Command: []string{"a"}}}, nil)
	if got := two.Names(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("names %v", got)
	}
	if name, ok := two.Only(); ok {
		t.Errorf("%q is the only one of two", name)
	}
	if name, ok := FromConfig(map[string]Command{"b": {}}, nil).Only(); !ok || name != "b" {
		t.Errorf("the only one is %q, %v", name, ok)
	}
	if _, ok := FromConfig(nil, nil).Only(); ok {
		t.Error("there is an only one of none")
	}
	if _, ok := two.Get("c"); ok {
		t.Error("found an agent nobody configured")
	}
}

func TestFind(t *testing.T) {
	dir, environ := bin(t, "codex")
	for _, f := range Find(LookPath(environ)) {
		want := ""
		if f.Binary == "codex" {
			want = filepath.Join(dir, "codex")
		}
		if f.Path != want {
			t.Errorf("%s is at %q, want %q", f.Name, f.Path, want)
		}
	}
}
