package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"

	"scv/internal/durable"
	"scv/internal/failpoint"
)

// Verify looks through a store file and says what is wrong with it. A tool hands it over, because it
// should run in a process of its own.
type Verify func(ctx context.Context, path string) error

// Copy writes a consistent copy of a store that nobody holds to a new file, 0600, which appears whole
// and verified. A file that is there is never replaced.
func Copy(ctx context.Context, from, to string, verify Verify) error {
	err := makeFile(to, func(temp string) error {
		if err := copyPages(ctx, from, temp); err != nil {
			return err
		}
		return verify(ctx, temp)
	}, placeNew)
	if err != nil {
		return fmt.Errorf("cannot copy the store to %q: %w", to, err)
	}
	return nil
}

// copyPages copies the state of a store that is held by nobody, without what is free at the file's end.
func copyPages(ctx context.Context, from, temp string) error {
	h, err := openHandle(ctx, from, handleOptions{readOnly: true, timeout: toolLockTimeout})
	if err != nil {
		return err
	}
	file, err := os.OpenFile(temp, os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return errors.Join(err, h.close())
	}
	err = h.view(func(tx *bbolt.Tx) error {
		_, err := tx.WriteTo(&boundWriter{ctx: ctx, to: file})
		return err
	})
	return errors.Join(err, file.Sync(), file.Close(), h.close())
}

// copyBytes copies a file as it is, damaged or not.
func copyBytes(ctx context.Context, from, temp string) (err error) {
	in, err := openFile(from, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(temp, os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(&boundWriter{ctx: ctx, to: out}, in)
	return errors.Join(err, out.Sync(), out.Close())
}

// makeFile makes a file aside with fill, syncs it and lets place give it its name.
func makeFile(path string, fill func(temp string) error, place func(temp, path string) error) error {
	file, err := os.CreateTemp(filepath.Dir(path), durable.Leftovers(path)) // 0600 from its first byte
	if err != nil {
		return err
	}
	temp := file.Name()
	defer func() { _ = os.Remove(temp) }()
	if err := errors.Join(file.Close(), fill(temp)); err != nil {
		return err
	}
	return errors.Join(place(temp, path), durable.SyncDir(filepath.Dir(path)))
}

// placeNew gives a file a name that nobody has.
func placeNew(temp, path string) error {
	if err := failpoint.Hit(failpoint.StoreRename); err != nil {
		return err
	}
	err := os.Link(temp, path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) { // a file system without links
		return errors.Join(err, fs.ErrExist)
	}
	return os.Rename(temp, path)
}
