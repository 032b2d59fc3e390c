package delegation

import (
	"errors"
	"fmt"
	"io"
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

// output makes the folder of a run and the files for what it prints.
func (k *Keeper) output(handle string) (out, errs *os.File, err error) {
	folder := k.folder(handle)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, nil, fmt.Errorf("cannot make run folder %q: %w", folder, err)
	}
	if out, err = create(filepath.Join(folder, "out")); err != nil {
		return nil, nil, err
	}
	if errs, err = create(filepath.Join(folder, "err")); err != nil {
		out.Close()
		return nil, nil, err
	}
	return out, errs, nil
}

func create(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot make output file %q: %w", path, err)
	}
	return f, nil
}

// readCapped reads at most limit bytes of a file and tells whether there was more.
func readCapped(path string, limit int64) ([]byte, bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if int64(len(b)) > limit {
		return b[:limit], true, err
	}
	return b, false, err
}

// printed is the size of the larger of a run's two files.
func (k *Keeper) printed(handle string) (largest int64) {
	for _, name := range []string{"out", "err"} {
		if info, err := os.Stat(filepath.Join(k.folder(handle), name)); err == nil {
			largest = max(largest, info.Size())
		}
	}
	return largest
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
		err = os.RemoveAll(k.folder(handle))
	}
	if err != nil {
		return fmt.Errorf("cannot remove output of %q: %w", handle, err)
	}
	return nil
}
