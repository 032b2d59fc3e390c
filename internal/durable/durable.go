// Package durable puts files in place so that a crash leaves the old one or the new one, never a part, and none
// that a power cut takes back. It knows nothing of what is in them. Every room that keeps files may come in.
package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"scv/internal/failpoint"
)

// Leftovers is the pattern of the temporary files that a crash may leave beside path, for filepath.Match.
func Leftovers(path string) string { return "." + filepath.Base(path) + ".tmp-*" }

// Place puts a whole file in place, or leaves what was there. Nobody else can read it before it has its mode;
// point is passed just before it appears.
func Place(path, point string, mode fs.FileMode, fill func(*os.File) error) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), Leftovers(path)) // 0600 from its first byte
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	err = fill(file)
	if err == nil {
		err = file.Chmod(mode)
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err = failpoint.Hit(point); err != nil {
		return err
	}
	if err = os.Rename(file.Name(), path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// SyncDir makes the names in a folder durable.
func SyncDir(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
