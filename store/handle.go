package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
	"golang.org/x/sys/unix"
)

// How bbolt maps and grows the file. The map is made large at once, so that a snapshot being read
// rarely makes a write wait until it can be made larger; it costs addresses, not memory.
const (
	mapSize   = 64 << 20
	growBytes = 1 << 20
)

// handle is one opening of the file.
type handle struct {
	db    *bbolt.DB
	file  *os.File
	stuck atomic.Bool // bbolt panicked while it held its locks: never call it again
}

type handleOptions struct {
	readOnly bool
	noSync   bool
	timeout  time.Duration // to wait for the lock
}

// openHandle opens an existing file. It takes the lock itself, so that the wait ends with ctx and its
// failure names the holder, and looks at the header before bbolt maps what may not be there.
func openHandle(ctx context.Context, path string, o handleOptions) (*handle, error) {
	flag := os.O_RDWR
	if o.readOnly {
		flag = os.O_RDONLY
	}
	file, err := openFile(path, flag)
	if err != nil {
		return nil, err
	}
	if err := admit(ctx, file, o); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	db, err := openBolt(file, o)
	if err != nil {
		_ = unix.Flock(int(file.Fd()), unix.LOCK_UN) // a map left by a panic would keep it
		_ = file.Close()                             // bbolt closed it already, unless it panicked
		return nil, fmt.Errorf("cannot open the store %q: %w", path, err)
	}
	db.AllocSize = growBytes
	return &handle{db: db, file: file}, nil
}

// admit locks the file and refuses one that bbolt could not bear.
func admit(ctx context.Context, file *os.File, o handleOptions) error {
	if err := checkSize(file); err != nil {
		return err
	}
	if err := lockFile(ctx, file, !o.readOnly, o.timeout); err != nil {
		return err
	}
	if err := checkHeader(file); err != nil {
		return err
	}
	if o.readOnly {
		return nil
	}
	return tighten(file)
}

// tighten takes away what others may do with a file that was copied into place by hand.
func tighten(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("cannot examine the store: %w", err)
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	if err := file.Chmod(0o600); err != nil {
		return fmt.Errorf("cannot make the store private: %w", err)
	}
	return nil
}

// openBolt hands the open file to bbolt, which may panic on a damaged one.
func openBolt(file *os.File, o handleOptions) (db *bbolt.DB, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			db, err = nil, fmt.Errorf("%w: its free list or a page cannot be read (%v)", ErrDamaged, r)
		}
	}()
	db, err = bbolt.Open(file.Name(), 0, &bbolt.Options{
		Timeout:         time.Second, // the lock is ours already
		FreelistType:    bbolt.FreelistMapType,
		ReadOnly:        o.readOnly,
		NoSync:          o.noSync,
		NoGrowSync:      o.noSync,
		InitialMmapSize: mapSize,
		OpenFile:        func(string, int, os.FileMode) (*os.File, error) { return file, nil },
	})
	for _, bad := range []error{bolterrors.ErrInvalid, bolterrors.ErrChecksum, bolterrors.ErrVersionMismatch} {
		if errors.Is(err, bad) {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
	return db, err
}

// close lets go of the file and its lock. It waits for open transactions.
func (h *handle) close() error {
	if h.stuck.Load() { // the map is never given back, and it would keep the lock
		return errors.Join(unix.Flock(int(h.file.Fd()), unix.LOCK_UN), h.file.Close())
	}
	return h.db.Close()
}
