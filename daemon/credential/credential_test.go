package credential

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestCredentialsAreKeptAndRemoved(t *testing.T) {
	home := t.TempDir()
	f := In(home)
	if _, err := f.Load("feishu", "work"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before there are any: %v", err)
	}
	if names, err := f.Accounts("feishu"); err != nil || names != nil {
		t.Errorf("before there are any: %v, %v", names, err)
	}
	must(t, f.Save("feishu", "work", []byte("old")))
	must(t, f.Save("feishu", "work", []byte("new")))
	must(t, f.Save("feishu", "home-2_x", []byte("x")))
	must(t, os.WriteFile(filepath.Join(home, "credentials", "feishu", "notes.txt"), nil, 0o600))
	if got, err := f.Load("feishu", "work"); err != nil || string(got) != "new" {
		t.Errorf("got %q, %v", got, err)
	}
	if names, err := f.Accounts("feishu"); err != nil || !slices.Equal(names, []string{"home-2_x", "work"}) {
		t.Errorf("accounts %v, %v", names, err)
	}
	for path, want := range map[string]fs.FileMode{"credentials": 0o700, "credentials/feishu": 0o700, "credentials/feishu/work.json": 0o600} {
		info, err := os.Stat(filepath.Join(home, path))
		must(t, err)
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %o", path, info.Mode().Perm())
		}
	}
	for range 2 {
		must(t, f.Delete("feishu", "work"))
	}
	if _, err := f.Load("feishu", "work"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after they were removed: %v", err)
	}
}

// What somebody else could have read or written is not used, and said with what to do.
func TestCredentialsOfOthersAreRefused(t *testing.T) {
	home := t.TempDir()
	f := In(home)
	must(t, f.Save("feishu", "work", []byte("s3cret")))
	path := filepath.Join(home, "credentials", "feishu", "work.json")
	must(t, os.Chmod(path, 0o640))
	if _, err := f.Load("feishu", "work"); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("readable by the group: %v", err)
	}
	must(t, os.WriteFile(path, make([]byte, maxFile+1), 0o600))
	must(t, os.Chmod(path, 0o600))
	if _, err := f.Load("feishu", "work"); err == nil {
		t.Error("a huge file was read")
	}
	must(t, os.Rename(path, path+".moved"))
	must(t, os.Symlink(path+".moved", path))
	if _, err := f.Load("feishu", "work"); err == nil {
		t.Error("a link was followed")
	}
	must(t, os.Remove(path))
	must(t, unix.Mkfifo(path, 0o600))
	if _, err := f.Load("feishu", "work"); err == nil {
		t.Error("a pipe was read")
	}
}

func TestNoNameLeadsElsewhere(t *testing.T) {
	f := In(t.TempDir())
	for _, name := range []string{"", "..", "a/b", "a.b", "ä", "a b", "a\x00"} {
		if err := f.Save("feishu", name, nil); err == nil {
			t.Errorf("account %q was saved", name)
		}
		if err := f.Save(name, "a", nil); err == nil {
			t.Errorf("channel %q was saved", name)
		}
	}
}

// A save that fails leaves what was there, and nothing else.
func TestAFailedSaveChangesNothing(t *testing.T) {
	home := t.TempDir()
	f := In(home)
	folder := filepath.Join(home, "credentials", "feishu")
	must(t, os.MkdirAll(filepath.Join(folder, "work.json", "x"), 0o700)) // a rename over it fails
	if err := f.Save("feishu", "work", []byte("s3cret")); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("got %v", err)
	}
	entries, err := os.ReadDir(folder)
	must(t, err)
	if len(entries) != 1 {
		t.Errorf("left: %v", entries)
	}
}
