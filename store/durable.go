package store

import (
	"os"
	"path/filepath"

	"scv/internal/durable"
	"scv/internal/failpoint"
)

// removeLeftovers removes what a killed creation left. It may be a second name of the store itself.
func removeLeftovers(path string) error {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if ok, _ := filepath.Match(durable.Leftovers(path), e.Name()); ok {
			if err := os.Remove(filepath.Join(filepath.Dir(path), e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeDurably puts a whole file in place, 0600, or leaves what was there.
func writeDurably(path string, fill func(*os.File) error) error {
	return durable.Place(path, failpoint.StoreRename, 0o600, fill)
}
