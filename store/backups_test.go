package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"scv/migrations"
)

func TestBackupsAreBounded(t *testing.T) {
	folder := t.TempDir()
	begin := newClock().Now().Wall
	put := func(name string, age time.Duration, size int64) {
		path := filepath.Join(folder, name)
		must(t, os.WriteFile(path, nil, 0o600))
		must(t, os.Truncate(path, size)) // a hole: no disk is used
		must(t, os.Chtimes(path, begin, begin.Add(-age)))
	}
	for n := range 6 {
		put(BackupName(begin.Add(-time.Duration(n)*time.Hour), true), time.Duration(n)*time.Hour, 1000)
	}
	put(BackupName(begin.Add(-time.Minute), false), 48*time.Hour, 1000)
	put(".auto-1.db.tmp-2", 0, 10)
	must(t, PruneBackups(folder))
	list, err := Backups(folder)
	must(t, err)
	if len(list) != keepBackups+1 || !list[0].Made.Equal(begin) || list[keepBackups].Made.After(begin.Add(-47*time.Hour)) {
		t.Errorf("left: %+v", list)
	}
	if halves, _ := filepath.Glob(filepath.Join(folder, ".*")); len(halves) > 0 {
		t.Errorf("half copies are left: %v", halves)
	}
	put("auto-large.db", -time.Hour, keepBackupBytes+1)
	must(t, PruneBackups(folder))
	if list, _ = AutoBackups(folder); len(list) != 1 || filepath.Base(list[0].Path) != "auto-large.db" {
		t.Errorf("left of too much: %+v", list)
	}
}

func TestBackupIsVerifiedAndReplacesNothing(t *testing.T) {
	s := newStore(t)
	fillStore(t, s)
	folder := t.TempDir()
	path := filepath.Join(folder, "copy.db")
	damaged := fmt.Errorf("%w: on purpose", ErrDamaged)
	for _, copy := range []func(Verify) error{
		func(v Verify) error { return s.Backup(ctx, path, v) },
		func(v Verify) error { return Copy(ctx, fixtures+strconv.Itoa(migrations.Newest())+".db", path, v) },
	} {
		if err := copy(func(context.Context, string) error { return damaged }); !errors.Is(err, damaged) {
			t.Errorf("got %v", err)
		}
		if entries, _ := os.ReadDir(folder); len(entries) > 0 {
			t.Fatalf("left: %v", entries)
		}
		must(t, copy(checkPagesOf))
		checkPrivate(t, path)
		must(t, Check(ctx, path))
		if err := copy(checkPagesOf); !errors.Is(err, os.ErrExist) {
			t.Errorf("a file was replaced: %v", err)
		}
		must(t, os.Remove(path))
	}
}
