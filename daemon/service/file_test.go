package service

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestInstalled(t *testing.T) {
	for _, make := range []func(Place) Manager{
		func(p Place) Manager { return newSystemd(p) }, func(p Place) Manager { return newLaunchd(p) },
	} {
		m := make(placeOf(t.TempDir(), ""))
		t.Run(m.Name(), func(t *testing.T) {
			w := Wanted{Program: "/bin/scv", Path: "/bin"}
			stands := func(when string, wanted Wanted, want Standing, differs ...string) {
				t.Helper()
				got, names, err := Installed(m, wanted)
				if err != nil || got != want || !slices.Equal(names, differs) {
					t.Errorf("%s: it is %s in %v, want %s in %v (%v)", when, got, names, want, differs, err)
				}
			}
			stands("before", w, Absent)
			if err := Install(m, w); err != nil {
				t.Fatal(err)
			}
			stands("after", w, Current)
			stands("with another PATH", Wanted{Program: "/bin/scv", Path: "/usr/bin"}, Stale, "the PATH")
			stands("with another program and home", Wanted{Program: "/usr/bin/scv", Home: "/h", Path: "/bin"}, Stale, "the program", "the home")
			change(t, m, "/bin/scv", "/my/scv")
			stands("edited", w, Edited, "the program")
			if err := Install(m, w); err != nil {
				t.Fatal(err)
			}
			change(t, m, "Written by", "I like it. Written by")
			stands("with a word of a person", w, Edited)
			if err := os.WriteFile(m.File(), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			stands("emptied", w, Edited, "the program", "the PATH")
		})
	}
}

func change(t *testing.T, m Manager, from, to string) {
	t.Helper()
	text, err := os.ReadFile(m.File())
	if err == nil {
		err = os.WriteFile(m.File(), []byte(strings.Replace(string(text), from, to, 1)), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestInstallInOneStep: a link that leads to the file stays one, what cannot be written leaves the old file, and
// nothing is left beside it.
func TestInstallInOneStep(t *testing.T) {
	root := t.TempDir()
	m := newSystemd(placeOf(root, ""))
	real := filepath.Join(root, "dotfiles", "scv.service")
	for _, dir := range []string{filepath.Dir(real), filepath.Dir(m.File())} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(real, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, m.File()); err != nil {
		t.Fatal(err)
	}
	if err := Install(m, Wanted{Program: "/bin/scv"}); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(m.File()); err != nil || to != real {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	info, err := os.Stat(real)
	if err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v, %v", info, err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(real), ".*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if err := os.RemoveAll(filepath.Join(root, ".config")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, ".config"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Install(m, Wanted{Program: "/bin/scv"}); err == nil || !strings.Contains(err.Error(), m.File()) {
		t.Errorf("a file in the place of a folder: %v", err)
	}
}
