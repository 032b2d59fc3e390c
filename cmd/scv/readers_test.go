package main

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"scv/wire"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares with testdata/golden/<name>.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

func scriptedReaders(t *testing.T) *fake {
	f := newFake(t)
	f.onControl(func(c wire.Command) (wire.DaemonStatus, error) {
		status := fakeStatus()
		if _, ok := c.(wire.DelegationsCommand); ok {
			status.Delegations = fakeRuns()
		}
		return status, nil
	})
	f.on(wire.SubjectConfirmList, wire.ConfirmList{Confirms: []wire.ConfirmDetail{fakeQuestion()}})
	f.on(wire.SubjectConfirmShow, fakeQuestion())
	return f
}

// TestReadersPrintJSON pins what scripts read: the daemon's own types, one line each.
func TestReadersPrintJSON(t *testing.T) {
	f := scriptedReaders(t)
	for name, args := range map[string]string{
		"status.json":         "status --json",
		"channels.json":       "channels --json",
		"channels-list.json":  "channels list --json",
		"delegations.json":    "delegations --all --json",
		"ps.json":             "ps --json",
		"questions.json":      "questions --json",
		"questions-show.json": "questions show 0123456789ab --json",
	} {
		got := at(t, f.home).scv(strings.Fields(args)...)
		if got.code != 0 || got.errOut != "" || strings.Count(got.out, "\n") != 1 {
			t.Errorf("scv %s: exit %d, stderr %q", args, got.code, got.errOut)
		}
		golden(t, name, got.out)
	}
}

// TestReadersOfThisMachine pins the readers that need no daemon.
func TestReadersOfThisMachine(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte("[agents.echo]\ncommand = [\"/nowhere/echo\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	rows := at(t, home).scv("agents", "--json").out
	golden(t, "agents.json", rows[:strings.Index(rows, "}")+1]+"\n") // the others are daemon/agent's to word
	if !strings.Contains(rows, `"configured":false`) {
		t.Errorf("no agent is offered: %s", rows)
	}

	version, commit = "1.2.3", "0123abc"
	defer func() { version, commit = "", "" }()
	number := regexp.MustCompile(`(schema"?:? ?)[0-9]+`) // it grows with every release
	for name, args := range map[string]string{"version.json": "version --json", "build-info.json": "build-info", "version.txt": "version"} {
		golden(t, name, number.ReplaceAllString(at(t, home).scv(strings.Fields(args)...).out, "${1}N"))
	}
}

func TestAgentsTellsOfABrokenFile(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte("[agents.echo]\ncolour = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := at(t, home).scv("agents")
	if got.code != 1 || !strings.Contains(got.errOut, "config.toml") || !strings.Contains(got.errOut, "scv run") {
		t.Errorf("exit %d, stderr %q", got.code, got.errOut)
	}
}

// TestReadersForPeople: foreign words are shown and do no harm.
func TestReadersForPeople(t *testing.T) {
	f := scriptedReaders(t)
	for args, words := range map[string][]string{
		"status": {
			"scv 1.2.3, pid 4242", f.home, "2 running (1 idle), 5 orphans stopped", "1 open: scv questions",
			"local:default", "connected", "failed", "log in again", "nobody",
		},
		"channels":                    {"feishu:work", "uid:0"},
		"delegations":                 {"codex-0a1b2c", "orphaned", "working", "/srv/工作"},
		"questions":                   {"0123456789ab", "3f", "yes", `Deploy \u202enow?\nReally?`},
		"questions show 0123456789ab": {"codex-0a1b2c", "yes by uid:0", "abc123", "\n  Deploy " + `\u202e` + "now?\n  Really?\n"},
		"reload":                      {"reloaded", "local:default"},
	} {
		got := at(t, f.home).scv(strings.Fields(args)...)
		if got.code != 0 || got.errOut != "" {
			t.Errorf("scv %s: exit %d, stderr %q", args, got.code, got.errOut)
		}
		for _, word := range words {
			if !strings.Contains(got.out, word) {
				t.Errorf("scv %s does not show %q:\n%s", args, word, got.out)
			}
		}
		if strings.ContainsAny(got.out, "\x1b\u202e") {
			t.Errorf("scv %s lets raw characters through: %q", args, got.out)
		}
	}
}

// TestStatusInsideAnAgent: where the questions may not be listed, the rest is shown all the same.
func TestStatusInsideAnAgent(t *testing.T) {
	f := scriptedReaders(t)
	f.script(wire.SubjectConfirmList, func([]byte) (any, error) { return nil, wire.Refuse(wire.Forbidden, "not for you") })
	got := at(t, f.home).scv("status")
	if got.code != 0 || strings.Contains(got.out, "questions") || !strings.Contains(got.out, "local:default") {
		t.Errorf("exit %d, %s%s", got.code, got.out, got.errOut)
	}
}
