package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestDiskFull(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounting a small disk needs root")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=3m"); err != nil {
		t.Skipf("cannot mount a small disk: %v", err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(dir, 0)) })
	ballast := filepath.Join(dir, "ballast")
	must(t, os.WriteFile(ballast, make([]byte, 1<<20), 0o600))
	s := openTest(t, optionsAt(filepath.Join(dir, "scv.db")))
	fillStore(t, s)
	checkLostAndFound(t, s, func() {
		must(t, unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT, "size=64m"))
	})
}

func TestReadOnlyDisk(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounting a small disk needs root")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=3m"); err != nil {
		t.Skipf("cannot mount a small disk: %v", err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(dir, 0)) })
	path := filepath.Join(dir, "scv.db")
	s := openTest(t, optionsAt(path))
	fillStore(t, s)
	must(t, s.Close())
	must(t, unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	if _, err := Open(ctx, optionsAt(path)); !errors.Is(err, unix.EROFS) || !strings.Contains(err.Error(), path) {
		t.Errorf("open: %v", err)
	}
	rows := 0
	must(t, DumpFile(ctx, path, DumpOptions{}, func(Row) error { rows++; return nil }))
	if rows < 10 {
		t.Errorf("%d rows", rows)
	}
}
