package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Backup is a copy of a store in the folder of backups.
type Backup struct {
	Path  string
	Made  time.Time
	Bytes int64
}

// What is kept of the copies that a daemon made by itself: the newest ones, and the last of each day for a week, since
// a mistake is not always noticed at once. The newest stays however large and old it is.
const (
	keepBackups     = 3
	keepBackupAge   = 7 * 24 * time.Hour
	keepBackupBytes = 512 << 20 // of all together
	autoPrefix      = "auto-"
)

// BackupName names a copy that is made at the time: for a person, who removes it himself, or by a daemon.
func BackupName(at time.Time, auto bool) string {
	if auto {
		return autoPrefix + stamp(at) + ".db"
	}
	return "scv-" + stamp(at) + ".db"
}

// Backups lists the copies in a folder, newest first. None is no error.
func Backups(folder string) (list []Backup, err error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		info, failed := e.Info()
		if failed != nil || !info.Mode().IsRegular() || filepath.Ext(e.Name()) != ".db" || e.Name()[0] == '.' {
			continue
		}
		list = append(list, Backup{filepath.Join(folder, e.Name()), info.ModTime(), info.Size()})
	}
	slices.SortFunc(list, func(a, b Backup) int { return b.Made.Compare(a.Made) })
	if err != nil {
		err = fmt.Errorf("cannot list the backups: %w", err)
	}
	return list, err
}

// AutoBackups are those that a daemon made by itself.
func AutoBackups(folder string) ([]Backup, error) {
	list, err := Backups(folder)
	return slices.DeleteFunc(list, func(b Backup) bool { return !strings.HasPrefix(filepath.Base(b.Path), autoPrefix) }), err
}

// Backup writes a verified copy of an open store to a new file.
func (s *Store) Backup(ctx context.Context, path string, verify Verify) error {
	err := makeFile(path, func(temp string) error {
		if err := s.copyTo(ctx, temp); err != nil {
			return err
		}
		return verify(ctx, temp)
	}, placeNew)
	if err != nil {
		return fmt.Errorf("cannot back the store up to %q: %w", path, err)
	}
	return nil
}

func (s *Store) copyTo(ctx context.Context, path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	err = s.writeTo(ctx, file)
	return errors.Join(err, file.Sync(), file.Close())
}

// PruneBackups removes what a daemon made and is too much or too old now, and what a killed one left half made.
func PruneBackups(folder string, now time.Time) error {
	list, err := AutoBackups(folder)
	if err != nil {
		return err
	}
	var total int64
	for n, b := range list {
		lastOfDay := n == 0 || !list[n-1].Made.Truncate(24*time.Hour).Equal(b.Made.Truncate(24*time.Hour))
		wanted := n < keepBackups || lastOfDay && now.Sub(b.Made) <= keepBackupAge
		if n > 0 && (!wanted || total+b.Bytes > keepBackupBytes) {
			err = errors.Join(err, os.Remove(b.Path))
			continue
		}
		total += b.Bytes
	}
	halves, globbed := filepath.Glob(filepath.Join(folder, ".*.db.tmp-*"))
	err = errors.Join(err, globbed)
	for _, half := range halves {
		err = errors.Join(err, os.Remove(half))
	}
	return err
}
