package store

import (
	"errors"
	"os"
	"path/filepath"

	"scv/internal/failpoint"
)

// leftoverPattern names the temporary files beside path, for os.CreateTemp and filepath.Match.
func leftoverPattern(path string) string { return "." + filepath.Base(path) + ".tmp-*" }

// removeLeftovers removes what a killed creation left. It may be a second name of the store itself.
func removeLeftovers(path string) error {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if ok, _ := filepath.Match(leftoverPattern(path), e.Name()); ok {
			if err := os.Remove(filepath.Join(filepath.Dir(path), e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeDurably puts a whole file in place, 0600, or leaves what was there.
func writeDurably(path string, fill func(*os.File) error) (err error) {
	dir := filepath.Dir(path)
	file, err := os.CreateTemp(dir, leftoverPattern(path))
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
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err = failpoint.Hit(failpoint.StoreRename); err != nil {
		return err
	}
	if err = os.Rename(file.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes a new name in a folder durable.
func syncDir(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
