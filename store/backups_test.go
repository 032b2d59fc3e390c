package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"scv/migrations"
)

func TestBackupsAreBounded(t *testing.T) {
	folder := t.TempDir()
	begin := time.Date(2026, 11, 1, 12, 30, 0, 0, time.UTC)
	put := func(name string, made time.Time, size int64) {
		path := filepath.Join(folder, name)
		must(t, os.WriteFile(path, nil, 0o600))
		must(t, os.Truncate(path, size)) // a hole: no disk is used
		must(t, os.Chtimes(path, made, made))
	}
	put(BackupName(begin, false), begin.Add(-48*time.Hour), 1000) // by hand
	put(".auto-1.db.tmp-2", begin, 10)
	now := begin
	for range 20 * 24 { // a daemon makes one each hour
		now = now.Add(time.Hour)
		put(BackupName(now, true), now, 1000)
		must(t, PruneBackups(folder, now))
	}
	var ages []string
	list, err := AutoBackups(folder)
	must(t, err)
	for _, b := range list {
		ages = append(ages, now.Sub(b.Made).String())
	}
	if got, want := strings.Join(ages, " "), "0s 1h0m0s 2h0m0s 13h0m0s 37h0m0s 61h0m0s 85h0m0s 109h0m0s 133h0m0s 157h0m0s"; got != want {
		t.Errorf("left: %s", got)
	}
	if all, _ := Backups(folder); len(all) != len(list)+1 {
		t.Errorf("that of a person is gone: %+v", all)
	}
	if halves, _ := filepath.Glob(filepath.Join(folder, ".*")); len(halves) > 0 {
		t.Errorf("half copies are left: %v", halves)
	}
	now = now.Add(365 * 24 * time.Hour) // nothing ran meanwhile
	must(t, PruneBackups(folder, now))
	if list, _ = AutoBackups(folder); len(list) != keepBackups {
		t.Errorf("left of what is old: %+v", list)
	}
	put("auto-large.db", now, keepBackupBytes+1)
	must(t, PruneBackups(folder, now))
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
