package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUsage: every mistake on the command line exits 2 and names a command to try.
func TestUsage(t *testing.T) {
	for args, want := range map[string]string{
		"":                                    "try: scv --help",
		"statuss":                             `did you mean "status"`,
		"foo":                                 "scv: unexpected argument foo\n",
		"config":                              "scv: unexpected argument config\n",
		"statsu":                              `did you mean "status"?`,
		"status --jsno":                       `did you mean "--json"?`,
		"confirm --timeout -7s q":             `--timeout cannot be less than nothing: "-7s"`,
		"status --jsn":                        "try: scv status --help",
		"confirm":                             `try: scv confirm "Deploy now?"`,
		"confirm two words":                   `words: put the question in quotes`,
		"chat hello":                          `as in: scv chat --send "hello"`,
		"--home":                              "scv: --home needs a value",
		"status --home --json":                "scv: --home needs a value",
		"-v":                                  "scv: unknown flag -v\n",
		"logs -n x":                           `--lines is a whole number, 0 or more; it cannot be "x"`,
		"run --log-level loud":                `--log-level is debug, info, warn or error; it cannot be "loud"`,
		"chat --timeout 5 --send x":           `--timeout is a time with its unit, as 90s, 30m or 4h; it cannot be "5"`,
		"status --json=maybe":                 `--json is true or false; it cannot be "maybe"`,
		"confirm --timeout 0s q":              "try: scv confirm --timeout",
		"confirm --timeout -5s q":             "try:",
		"confirm --timeout soon q":            "try:",
		"confirm ask q":                       "try: scv confirm",
		"confirm list show":                   "try: scv confirm",
		"questions show":                      "try: scv questions show --help",
		"notify":                              `try: scv notify "The backup is done"`,
		"notify two words":                    `words: put the text in quotes`,
		"kill":                                "try: scv delegations kill HANDLE",
		"delegations kill h --orphans":        "try: scv delegations kill HANDLE",
		"channels set":                        "try: scv channels set",
		"channels set local":                  "try: scv channels set local:default",
		"channels set local:":                 "try: scv channels set local:default",
		"channels enable :x":                  "try: scv channels enable local:default",
		"channels set a:b":                    "nothing to change",
		"channels set a:b --senders all":      `must be one of ["owner" "anyone"]`,
		"channels set a:b --remote-tools yes": `must be one of ["none" "owner"]`,
		"channels set a:b --enable --disable": "try: scv channels set",
		"chat --timeout 0s --send x":          "try: scv chat",
		"store":                               "try: scv store --help",
		"channels lsit":                       "lsit, did you mean \"list\"?\ntry: scv channels --help",
		"questions shwo 0123456789ab":         "shwo, did you mean \"show\"?\ntry: scv questions --help",
		"questions 0123456789ab":              "0123456789ab\ntry: scv questions --help",
		"delegations list x":                  "x\ntry: scv delegations list --help",
	} {
		got := at(t, t.TempDir()).scv(strings.Fields(args)...)
		if got.code != 2 || !strings.HasPrefix(got.errOut, "scv: ") || !strings.Contains(got.errOut, want) || got.out != "" {
			t.Errorf("scv %s: exit %d, stdout %q, stderr %q; want exit 2 and %q", args, got.code, got.out, got.errOut, want)
		}
		if !strings.Contains(got.errOut, "\ntry: scv") {
			t.Errorf("scv %s names no command to try: %q", args, got.errOut)
		}
	}
}

// TestNoDaemon: with nobody to ask, exit 3 (confirm: 2) and the command that starts one.
func TestNoDaemon(t *testing.T) {
	for args, code := range map[string]int{
		"status": 3, "status --json": 3, "reload": 3, "channels": 3, "channels list --json": 3,
		"channels set a:b --enable": 3, "channels disable a:b": 3, "channels logout a:b": 3,
		"delegations --all": 3, "ps": 3, "kill h": 3, "delegations kill --orphans": 3, "chat --send hi": 3, "notify hi": 3, "chat": 3,
		"confirm q": 2, "confirm list": 2, "confirm -- -list": 2, "questions": 3, "questions list": 3, "questions show 0123456789ab": 3,
	} {
		home := filepath.Join(t.TempDir(), "none")
		got := at(t, home).scv(strings.Fields(args)...)
		if got.code != code || !strings.Contains(got.errOut, home) || !strings.Contains(got.errOut, "\nstart it: scv run") {
			t.Errorf("scv %s: exit %d, stderr %q; want exit %d", args, got.code, got.errOut, code)
		}
		if got.out != "" {
			t.Errorf("scv %s printed %q to stdout", args, got.out)
		}
		if _, err := os.Stat(home); err == nil {
			t.Errorf("scv %s made the home", args)
		}
	}
}

func TestHintKeepsTheHomeFlag(t *testing.T) {
	got := at(t, "/elsewhere").scv("--home", "/tmp/my home", "status")
	if !strings.Contains(got.errOut, "start it: scv --home '/tmp/my home' run\n") {
		t.Errorf("stderr %q", got.errOut)
	}
}

func TestHomeUnknown(t *testing.T) {
	h := at(t, "")
	if got := h.scv("status"); got.code != 1 || !strings.Contains(got.errOut, "SCV_HOME") {
		t.Errorf("exit %d, stderr %q", got.code, got.errOut)
	}
}

func TestHomeIsCanonical(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	if err := os.Mkdir(real, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	want, err := filepath.EvalSymlinks(real)
	if err != nil {
		t.Fatal(err)
	}
	a := &app{homeFlag: link, getenv: func(string) string { return "/not/this" }}
	if got, err := a.home(); err != nil || got != want {
		t.Errorf("home = %q, %v; want %q", got, err, want)
	}
}

// TestHelp: help is no error, goes to stdout, and asks nobody.
func TestHelp(t *testing.T) {
	for _, args := range []string{"--help", "questions --help", "chat -h", "channels set --help"} {
		got := at(t, "/none").scv(strings.Fields(args)...)
		if got.code != 0 || !strings.HasPrefix(got.out, "Usage: scv") || got.errOut != "" {
			t.Errorf("scv %s: exit %d, stdout %q, stderr %q", args, got.code, got.out, got.errOut)
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestLostOutputIsAFailure(t *testing.T) {
	var errOut strings.Builder
	code := run(t.Context(), []string{"version"}, strings.NewReader(""), fullDisk{}, &errOut, func(string) string { return "" })
	if code != 1 || !strings.Contains(errOut.String(), "no space left") {
		t.Errorf("exit %d, stderr %q", code, errOut.String())
	}
}

func TestReportEscapesForeignWords(t *testing.T) {
	var errOut strings.Builder
	report(&errOut, failf(exitFailed, "", "no account %s", "\x1b[2J\u202e"))
	if got, want := errOut.String(), "scv: no account "+`\x1b[2J\u202e`+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	report(io.Discard, nil)
}
