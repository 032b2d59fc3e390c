package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"scv/internal/durable"
	"scv/internal/failpoint"
)

// Condition is how a store's file was left, told without opening it.
type Condition int

// The conditions.
const (
	Missing Condition = iota // there is no file
	Stub                     // a file shorter than any store that was ever whole
	Unclean                  // nobody closed it in order, or somebody changed it since
	Clean                    // closed in order, and untouched since
)

// leastPages are what bbolt begins a file with: two metas, a free list and a root.
const leastPages = 4

// Files beside a store that outlive its loss.
const (
	madeSuffix   = ".made"    // tells that a store was made here once
	closedSuffix = ".closed"  // tells how the file looked when it was last closed
	stubSuffix   = ".stub"    // what was there before a store was made over a stub
	asideSuffix  = ".damaged" // begins the name of a damaged file that was set aside
	keptSuffix   = ".before"  // begins the name of a file that a tool replaced
)

// Look tells the condition of the store at path. The one who is about to open it asks: a Clean answer is
// given once, so that whatever happens next is not taken for a clean end.
func Look(path string) (Condition, error) {
	file, err := openFile(path, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return Missing, nil
	}
	if err != nil {
		return Unclean, fmt.Errorf("cannot look at the store: %w", err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return Unclean, fmt.Errorf("cannot look at the store: %w", err)
	}
	if isStub(file, info.Size()) {
		return Stub, nil
	}
	untouched, err := takeClosed(path)
	if err != nil {
		return Unclean, fmt.Errorf("cannot tell how the store %q was left: %w", path, err)
	}
	if untouched {
		return Clean, nil
	}
	return Unclean, nil
}

// isStub reports whether a file is shorter than a store at its birth.
func isStub(file *os.File, size int64) bool {
	page := int64(os.Getpagesize())
	meta, ok := newestMeta(file)
	if ok {
		page = int64(meta.pageSize) // it may come from a machine with others
	}
	return size < leastPages*page
}

// EarlierLife names a sign that a store was here before: its own mark, or a copy of it. It is "" when there is
// none, so that a new store takes nobody's place. Credentials are no sign: people sign in before the first
// start.
func EarlierLife(path string) (sign string, err error) {
	dir := filepath.Dir(path)
	for _, pattern := range []string{
		path + madeSuffix, path + keptSuffix + "-*", path + ".schema-*",
		filepath.Join(dir, "backup", "*.db"),
	} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return "", fmt.Errorf("cannot look for an earlier store: %w", err)
		}
		if len(found) > 0 {
			return found[0], nil
		}
	}
	return "", nil
}

// NoteLife leaves the mark that a store was made here, unless it is there.
func (s *Store) NoteLife() error {
	mark := s.path + madeSuffix
	if _, err := os.Stat(mark); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := writeDurably(mark, func(file *os.File) error {
		_, err := fmt.Fprintf(file, "%s\nA store was made here. While this file is here, scv does not take a lost store for a new home.\n",
			s.clock.Now().Wall.UTC().Format(time.RFC3339))
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot note that the store was made: %w", err)
	}
	return nil
}

// NoteClosed notes, after Close, that the store was closed in order. Power may be lost before the note
// is on the disk: then the next start looks once more than it had to.
func (s *Store) NoteClosed() error {
	if !s.sound {
		return nil
	}
	info, err := os.Stat(s.path)
	if err == nil {
		err = os.WriteFile(s.path+closedSuffix, []byte(fingerprint(info)), 0o600)
	}
	if err != nil {
		return fmt.Errorf("cannot note that the store was closed: %w", err)
	}
	return nil
}

// takeClosed reads the note of the last close and removes it for good.
func takeClosed(path string) (untouched bool, err error) {
	note := path + closedSuffix
	noted, err := os.ReadFile(note)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	info, err := os.Stat(path)
	if err == nil {
		err = os.Remove(note)
	}
	if err == nil { // else the note could outlive a power cut, and the writes that it does not know of
		err = durable.SyncDir(filepath.Dir(path))
	}
	return err == nil && string(noted) == fingerprint(info), err
}

// fingerprint is how a file looks from outside: any later write or replacement changes it.
func fingerprint(info fs.FileInfo) string {
	return fmt.Sprintf("%d %d %d\n", info.Size(), info.ModTime().UnixNano(), inode(info))
}

// DropStub moves a stub out of the way of a new store. What was there before under that name is lost:
// it was a stub too.
func DropStub(path string) error {
	err := failpoint.Hit(failpoint.StoreRename)
	if err == nil {
		err = os.Rename(path, path+stubSuffix)
	}
	if err != nil {
		return fmt.Errorf("cannot move the unfinished store away: %w", err)
	}
	return nil
}

// SetAside moves a damaged store out of the way of a new one, and returns its new name.
func SetAside(path string, at time.Time) (kept string, err error) {
	kept = path + asideSuffix + "-" + stamp(at)
	if err = failpoint.Hit(failpoint.StoreRename); err == nil {
		err = os.Rename(path, kept)
	}
	if err == nil {
		err = durable.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		return "", fmt.Errorf("cannot set the damaged store aside: %w", err)
	}
	return kept, nil
}

// stamp is a time as it stands in a file's name.
func stamp(at time.Time) string { return at.UTC().Format("20060102T150405Z") }
