package delegation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"scv/internal/failpoint"
	"scv/store"
)

// This file is the folder of a run: what the agent prints goes to files there, so that it depends on no
// pipe of ours and outlives us.

func (k *Keeper) folder(handle string) string { return filepath.Join(k.o.Home, "runs", handle) }

// create makes the folder of a run and the files for what it prints.
func (k *Keeper) create(handle string) (*output, error) {
	folder := k.folder(handle)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make run folder %q: %w", folder, err)
	}
	return createOutput(folder)
}

// clearFolders removes what runs printed that are not on record any more: an earlier daemon died while
// it forgot them. The folders are listed first, since a run is on record before it has one.
func (k *Keeper) clearFolders() {
	folders, err := os.ReadDir(k.folder(""))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	rows, rowsErr := k.rows()
	if err := errors.Join(err, rowsErr); err != nil {
		k.o.Log.Error("cannot look for what forgotten runs printed", "err", err)
		return
	}
	for _, folder := range folders {
		known := slices.ContainsFunc(rows, func(r store.DelegationRow) bool { return r.Handle == folder.Name() })
		if known {
			continue
		}
		if err := k.removeOutput(folder.Name()); err != nil {
			k.o.Log.Error("cannot remove what a forgotten run printed", "handle", folder.Name(), "err", err)
		}
	}
}

// removeOutput removes what a run printed.
func (k *Keeper) removeOutput(handle string) error {
	err := failpoint.Hit(failpoint.RunFiles)
	if err == nil {
		folder := k.folder(handle)
		for _, name := range []string{"out", "err"} { // RemoveAll of what is not empty takes descriptors
			_ = os.Remove(filepath.Join(folder, name))
		}
		err = os.RemoveAll(folder)
	}
	if err != nil {
		return fmt.Errorf("cannot remove output of %q: %w", handle, err)
	}
	return nil
}
