package store

import (
	"os"
	"path/filepath"
	"testing"
)

func look(t *testing.T, path string) Condition {
	t.Helper()
	c, err := Look(path)
	must(t, err)
	return c
}

// Only an orderly end that nothing followed is clean, and it counts once.
func TestCleanOnlyAfterAnOrderlyEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "scv.db")
	if c := look(t, path); c != Missing {
		t.Errorf("before it is made: %v", c)
	}
	s := openTest(t, optionsAt(path))
	if c := look(t, path); c != Unclean {
		t.Errorf("while it is open: %v", c)
	}
	must(t, s.NoteClosed()) // too early to count
	if c := look(t, path); c != Unclean {
		t.Errorf("noted before it was closed: %v", c)
	}
	must(t, s.Close())
	must(t, s.NoteClosed())
	checkPrivate(t, path+closedSuffix)
	if c := look(t, path); c != Clean {
		t.Errorf("after an orderly end: %v", c)
	}
	if c := look(t, path); c != Unclean {
		t.Errorf("asked again, as after a crash of the asker: %v", c)
	}
}

func TestNotCleanWhenChangedSince(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, path string){
		"written": func(t *testing.T, path string) {
			s := openTest(t, optionsAt(path))
			must(t, writePair(s, "x"))
			must(t, s.Close())
		},
		"replaced": func(t *testing.T, path string) {
			info, err := os.Stat(path)
			must(t, err)
			raw, err := os.ReadFile(path)
			must(t, err)
			must(t, os.WriteFile(path+".new", raw, 0o600))
			must(t, os.Rename(path+".new", path))
			must(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
		},
		"cut": func(t *testing.T, path string) { must(t, os.Truncate(path, 20000)) },
	} {
		path := filepath.Join(t.TempDir(), "scv.db")
		s, err := Open(ctx, optionsAt(path))
		must(t, err)
		must(t, s.Close())
		must(t, s.NoteClosed())
		change(t, path)
		if c := look(t, path); c != Unclean {
			t.Errorf("%s: %v", name, c)
		}
	}
}

func TestStubsAreShorterThanAnyStore(t *testing.T) {
	s := newStore(t)
	must(t, s.Close())
	raw, err := os.ReadFile(s.Path())
	must(t, err)
	path := filepath.Join(t.TempDir(), "scv.db")
	for _, size := range []int{0, 1, 4096, 6144, 8191, 16383} {
		for _, content := range [][]byte{raw[:size], make([]byte, size)} {
			must(t, os.WriteFile(path, content, 0o600))
			if c := look(t, path); c != Stub {
				t.Errorf("%d bytes: %v", size, c)
			}
		}
	}
	must(t, os.WriteFile(path, raw, 0o600))
	if c := look(t, path); c != Unclean {
		t.Errorf("a whole one: %v", c)
	}
}

func TestEarlierLifeIsKnownByWhatIsLeft(t *testing.T) {
	for _, left := range []string{
		"scv.db.made", "scv.db.before-compact-1", "scv.db.schema-1", "backup/auto-1.db",
		"", "credentials/feishu/work.json", ".scv.db.tmp-1", "daemon.lock", "config.toml", "scv.db.stub", "backup/", "credentials/", "log/scv.log",
	} {
		dir := t.TempDir()
		if left != "" {
			must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, left)+"x"), 0o700))
		}
		if left != "" && left[len(left)-1] != '/' {
			must(t, os.WriteFile(filepath.Join(dir, left), nil, 0o600))
		}
		sign, err := EarlierLife(filepath.Join(dir, "scv.db"))
		must(t, err)
		known := left == "scv.db.made" || left == "scv.db.before-compact-1" || left == "scv.db.schema-1" ||
			left == "backup/auto-1.db"
		if (sign != "") != known {
			t.Errorf("%q left: %q", left, sign)
		}
	}
}
