package service

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"scv/daemon/process"
)

var update = flag.Bool("update", false, "write the golden files anew")

func placeOf(user, instance string) Place {
	return Place{User: user, Instance: instance, UID: 501, Procs: process.NewTable()}
}

// odd has all that the two kinds of files must write in another way.
var odd = Wanted{
	Program: "/opt/a b/$HOME/100%/<scv>&co",
	Home:    `/srv/it's "mine" \ 100% $HOME <&>`,
	Path:    `/opt/my tools:/usr/bin:/odd/"q"`,
}

func TestDescribe(t *testing.T) {
	plainly := Wanted{Program: "/home/me/.local/bin/scv", Path: "/home/me/.local/bin:/usr/bin:/bin"}
	for name, c := range map[string]struct {
		manager Manager
		wanted  Wanted
	}{
		"scv.service":          {newSystemd(placeOf("/home/me", "")), plainly},
		"scv-8973cbc5.service": {newSystemd(placeOf("/home/me", "8973cbc5")), odd},
		"scv.plist":            {newLaunchd(placeOf("/Users/me", "")), plainly},
		"scv.8973cbc5.plist":   {newLaunchd(placeOf("/Users/me", "8973cbc5")), odd},
	} {
		if filepath.Base(c.manager.File()) != name {
			t.Errorf("it is called %s and not %s", c.manager.File(), name)
		}
		got, err := sealed(c.manager, c.wanted)
		if err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-update writes it anew): %s", name, diff)
		}
	}
}

// What cannot be described is refused in words before anything is written.
func TestDescribeRefuses(t *testing.T) {
	for _, m := range []Manager{newSystemd(placeOf("/home/me", "")), newLaunchd(placeOf("/home/me", ""))} {
		for name, w := range map[string]Wanted{
			"a line break": {Program: "/bin/scv", Path: "/bin\nExecStartPost=/bin/evil"},
			"no UTF-8":     {Program: "/bin/scv", Home: "/home/\xff"},
			"an escape":    {Program: "/bin/\x1bscv"},
		} {
			if text, err := m.Describe(w); err == nil {
				t.Errorf("%s: %s is described as %s", m.Name(), name, text)
			}
		}
	}
	for _, path := range []string{`/a"b/scv`, `/a'b/scv`, `/a\b/scv`} {
		if _, err := newSystemd(placeOf("/home/me", "")).Describe(Wanted{Program: path}); err == nil || !strings.Contains(err.Error(), "install scv somewhere else") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestUnitIsSound asks systemd itself whether it understands what is written.
func TestUnitIsSound(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("NOTHING WAS TESTED: there is no systemd-analyze here")
	}
	for name, folder := range map[string]string{"plain": "bin", "odd": "a b/$HOME/100%/<&>;#"} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			program := filepath.Join(root, folder, "scv")
			if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			m := newSystemd(placeOf(root, ""))
			if err := Install(m, Wanted{Program: program, Home: odd.Home, Path: odd.Path}); err != nil {
				t.Fatal(err)
			}
			out, said := verified(t, analyze, root, m.File())
			if said != nil && strings.Contains(out, "Failed to") { // it needs more of a system than is here
				t.Skip("NOTHING WAS TESTED: systemd-analyze does not work here: ", out)
			}
			if said != nil || strings.Contains(out, m.Unit()+":") {
				t.Errorf("%v\n%s", said, out)
			}
			if err := os.Remove(program); err != nil {
				t.Fatal(err)
			}
			if out, _ := verified(t, analyze, root, m.File()); !strings.Contains(out, "scv") { // it has looked at the right file
				t.Errorf("without its program it is still sound: %s", out)
			}
		})
	}
}

func verified(t *testing.T, analyze, root, file string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), analyze, "verify", "--user", "--man=no", file)
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+root, "HOME="+root)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
