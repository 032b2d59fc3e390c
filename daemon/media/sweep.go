package media

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"scv/internal/failpoint"
)

// SetAside empties a chat's outbox before a turn begins: what an interrupted turn left there, or what could not
// be sent, belongs to no answer that comes. It is kept as long as what came. The path is where it is now, "" where
// there was nothing.
func (f Folders) SetAside(c Chat, now time.Time) (path string, err error) {
	outbox := f.Outbox(c)
	info, err := os.Lstat(outbox)
	if err != nil {
		return "", unlessGone(err)
	}
	if info.IsDir() {
		if entries, err := os.ReadDir(outbox); err == nil && len(entries) == 0 {
			return "", nil
		}
	}
	if err := failpoint.Hit(failpoint.MediaAside); err != nil {
		return "", err
	}
	path = filepath.Join(f.chat(left, c), now.UTC().Format("20060102T150405.000000000"))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	if err := os.Rename(outbox, path); err != nil {
		return "", fmt.Errorf("cannot empty the outbox %q: %w", outbox, err)
	}
	if info.IsDir() { // a link would lead elsewhere
		_ = os.Chtimes(path, now, now) // its age counts from here
	}
	return path, nil
}

// Forget removes all files of an account.
func (f Folders) Forget(account string) error {
	if err := failpoint.Hit(failpoint.MediaRemove); err != nil {
		return err
	}
	var all []error
	for _, kind := range []string{came, outbox, left, sending} {
		all = append(all, os.RemoveAll(f.of(kind, account)))
	}
	if err := errors.Join(all...); err != nil {
		return fmt.Errorf("cannot remove the files of %q: %w", account, err)
	}
	return nil
}

// Sweep removes what came, and what was set aside, before a time.
func (f Folders) Sweep(before time.Time) error {
	return errors.Join(f.sweepCame(before), f.sweepLeft(before))
}

// sweepCame removes files by their age, and folders that are empty and as old.
func (f Folders) sweepCame(before time.Time) error {
	root := filepath.Join(f.root, came)
	var folders []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return unlessGone(err)
		}
		info, err := entry.Info()
		switch {
		case err != nil:
			return unlessGone(err)
		case !info.ModTime().Before(before) || path == root:
		case entry.IsDir():
			folders = append(folders, path)
		default:
			return unlessGone(os.Remove(path))
		}
		return nil
	})
	for _, folder := range slices.Backward(folders) { // those below first
		_ = os.Remove(folder) // it fails for one that is not empty
	}
	return err
}

func unlessGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// sweepLeft removes what was set aside, each time as a whole.
func (f Folders) sweepLeft(before time.Time) error {
	if err := failpoint.Hit(failpoint.MediaRemove); err != nil {
		return err
	}
	var all []error
	for _, path := range below(filepath.Join(f.root, left), 4) {
		if info, err := os.Lstat(path); err == nil && info.ModTime().Before(before) {
			all = append(all, os.RemoveAll(path))
			_ = os.Remove(filepath.Dir(path)) // unless more is in it
		}
	}
	return errors.Join(all...)
}

// below lists what is so many levels under a folder, links not followed.
func below(folder string, levels int) (paths []string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		path := filepath.Join(folder, entry.Name())
		switch {
		case levels == 1:
			paths = append(paths, path)
		case entry.IsDir():
			paths = append(paths, below(path, levels-1)...)
		}
	}
	return paths
}

// Leftovers removes what a crash left: files that are not whole, and copies of which no answer is left. wanted
// tells whether an answer of an account still has its files to send. It is for a start: nobody fetches or
// collects meanwhile.
func (f Folders) Leftovers(wanted func(account, answer string) bool) error {
	if err := failpoint.Hit(failpoint.MediaRemove); err != nil {
		return err
	}
	var all []error
	for _, path := range below(filepath.Join(f.root, came), 5) {
		if strings.HasPrefix(filepath.Base(path), beside) {
			all = append(all, unlessGone(os.Remove(path)))
		}
	}
	root := filepath.Join(f.root, sending)
	for _, path := range below(root, 3) {
		within, err := filepath.Rel(root, path)
		parts := strings.Split(within, string(filepath.Separator))
		if err == nil && len(parts) == 3 && !wanted(parts[0]+":"+parts[1], parts[2]) {
			all = append(all, os.RemoveAll(path))
		}
	}
	return errors.Join(all...)
}

// Note says what was not sent, as the end of an answer.
func Note(dropped []string, outbox string) string {
	if len(dropped) == 0 {
		return ""
	}
	return "[" + strconv.Itoa(len(dropped)) + " not sent, still in " + outbox + "]\n- " + strings.Join(dropped, "\n- ")
}
