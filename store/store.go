package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	"scv/internal/clock"
	"scv/internal/durable"
	"scv/internal/failpoint"
	"scv/migrations"
)

// The errors a caller acts on.
var (
	ErrUnavailable = errors.New("the store is not available") // a commit failed, or it is closed; reads may go on
	ErrDamaged     = errors.New("the store is damaged")       // its file cannot be opened
	ErrLocked      = errors.New("the store is in use")        // another process holds it
)

var errClosed = fmt.Errorf("%w: it is closed", ErrUnavailable)

func unavailable(doing string, cause error) error {
	return fmt.Errorf("%s: %w: %w", doing, ErrUnavailable, cause)
}

// defaultLockTimeout is how long Open waits for another process to let go of the file.
const defaultLockTimeout = 2 * time.Second

// Options say which store to open.
type Options struct {
	Path        string // of the file, in a folder that exists
	Clock       clock.Clock
	Log         *slog.Logger  // nil: none
	Release     string        // of this program, noted in a store it makes
	Instance    string        // id of the home, noted likewise
	LockTimeout time.Duration // 0: 2 s
	NoSync      bool          // never sync: only to show that a harness notices

	step func(string) // for tests: called between the steps of a creation
}

// Store is an open store. Its methods may be called from any goroutine.
type Store struct {
	path        string
	clock       clock.Clock
	log         *slog.Logger
	lockTimeout time.Duration
	noSync      bool
	fresh       bool

	calls   chan *call
	closing chan struct{} // closed by Close
	written chan struct{} // closed when the writer has ended
	stop    sync.Once

	held atomic.Pointer[hold] // nil: writes go on

	mu     sync.RWMutex // held for reading by every View; for writing while the handle changes
	handle *handle      // nil when it is closed or could not be opened again

	sound      bool           // set by Close: it was in order
	suspect    bool           // owned by the writer: open the file again before the next write
	sightings  map[string]int // owned by the writer; see seen.go
	commits    atomic.Int64   // that succeeded
	complaints sync.Map       // names of bad records that were logged
}

// Open opens the store, making it when there is none, brings it to the newest schema and moves every
// record that cannot be read to quarantine. The error is ErrLocked, ErrDamaged or a
// *migrations.NewerError where that is the cause. Close it in the end.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.LockTimeout == 0 {
		o.LockTimeout = defaultLockTimeout
	}
	fresh, err := createMissing(o)
	if err != nil {
		return nil, fmt.Errorf("cannot create the store %q: %w", o.Path, err)
	}
	s := &Store{
		path: o.Path, clock: o.Clock, log: o.Log, lockTimeout: o.LockTimeout, noSync: o.NoSync || failpoint.Broken(failpoint.BrokenSync), fresh: fresh,
		calls: make(chan *call), closing: make(chan struct{}), written: make(chan struct{}),
		sightings: map[string]int{},
	}
	if s.handle, err = openHandle(ctx, s.path, s.handleOptions()); err != nil {
		return nil, err
	}
	go s.writer()
	if err := s.prepare(ctx, o); err != nil {
		_ = s.Close() // the first error is the one that counts
		// Where no code but bbolt's ran, a panic is a page that it cannot read.
		if errors.Is(err, errPanicked) || errors.Is(err, migrations.ErrNoNumber) {
			err = fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		return nil, fmt.Errorf("cannot open the store %q: %w", o.Path, err)
	}
	return s, nil
}

func (s *Store) handleOptions() handleOptions {
	return handleOptions{timeout: s.lockTimeout, noSync: s.noSync}
}

// prepare makes an open file fit for use. The writer has nothing to do yet.
func (s *Store) prepare(ctx context.Context, o Options) error {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	backup := func(schema int) error {
		return s.Snapshot(ctx, fmt.Sprintf("%s.schema-%d", s.path, schema))
	}
	err := s.protect(func() error {
		_, err := migrations.Apply(s.handle.db, migrations.Options{Backup: backup, Log: s.log})
		return err
	})
	if err != nil {
		return err
	}
	if err := s.restoreTree(ctx, o); err != nil {
		return err
	}
	return s.quarantineAll(ctx, o)
}

// restoreTree makes buckets that a damaged store lost, so that the rest of it is of use.
func (s *Store) restoreTree(ctx context.Context, o Options) error {
	return s.write(ctx, func(t *txn) error {
		for _, table := range Schema {
			if t.bucket(table) != nil {
				continue
			}
			t.dirty = true
			if _, err := t.tx.CreateBucket([]byte(table.Name)); err != nil {
				return err
			}
			s.log.Error("store lost a bucket; made an empty one", "path", s.path, "bucket", table.Name)
		}
		return nil
	})
}

// Fresh reports whether this Open made the store.
func (s *Store) Fresh() bool { return s.fresh }

// Path is the store's file.
func (s *Store) Path() string { return s.path }

// Close waits for the writes and reads under way and closes the file. A second call does nothing.
func (s *Store) Close() (err error) {
	s.stop.Do(func() {
		close(s.closing)
		<-s.written
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.handle != nil {
			err = s.handle.close()
			s.sound = err == nil && !s.suspect && !s.handle.stuck.Load()
			s.handle = nil
		}
	})
	return err
}

// read runs fn in a read transaction.
func (s *Store) read(fn func(*txn) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.handle == nil || s.handle.stuck.Load() {
		return unavailable("cannot read the store", errNoHandle)
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	return s.protect(func() error {
		tx, err := s.handle.db.Begin(false)
		if err != nil {
			return unavailable("cannot read the store", err)
		}
		defer func() { _ = tx.Rollback() }() // a read has nothing to lose
		return fn(&txn{s: s, tx: tx})
	})
}

var errNoHandle = errors.New("its file is not open")

// reopen replaces a suspect handle. Only the writer calls it. After an error reads may still go on: where
// the file can not even be opened to write, as on a disk that fails or that the kernel has set read-only,
// the old handle stays, and who asks is still told what runs, and can stop it.
func (s *Store) reopen() error {
	if !s.suspect && s.handle != nil {
		return nil
	}
	if s.handle != nil && !s.handle.stuck.Load() {
		file, err := os.OpenFile(s.path, os.O_RDWR, 0)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil {
			_ = file.Close()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handle != nil {
		if err := s.handle.close(); err != nil {
			s.log.Warn("store file did not close cleanly", "path", s.path, "err", err)
		}
		s.handle = nil
	}
	h, err := openHandle(context.Background(), s.path, s.handleOptions())
	if err != nil {
		return err
	}
	s.handle, s.suspect = h, false
	s.log.Info("store opened again after a failed write", "path", s.path)
	return nil
}

// complain logs a bad record once. The next Open moves it to quarantine.
func (s *Store) complain(table *Table, key []byte, reason error) {
	name := table.Name + "/" + table.form.text(key)
	if _, known := s.complaints.LoadOrStore(name, true); !known {
		s.log.Error("store record cannot be read; left out", "record", name, "reason", reason.Error())
	}
}

// createMissing makes the store where there is none.
func createMissing(o Options) (fresh bool, err error) {
	if err := removeLeftovers(o.Path); err != nil {
		return false, err
	}
	if _, err := os.Stat(o.Path); !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return create(o)
}

// create makes the whole store aside and gives it its name last: power lost while bbolt makes a file
// would leave one that never opens.
func create(o Options) (fresh bool, err error) {
	step := o.step
	if step == nil {
		step = func(string) {}
	}
	dir := filepath.Dir(o.Path)
	file, err := os.CreateTemp(dir, durable.Leftovers(o.Path)) // 0600 from its first byte
	if err != nil {
		return false, err
	}
	temp := file.Name()
	defer func() { _ = os.Remove(temp) }()
	defer func() { _ = file.Close() }()
	step("temp made")
	if err := fill(temp, o, step); err != nil {
		return false, err
	}
	if err := file.Sync(); err != nil {
		return false, err
	}
	step("synced")
	if err := failpoint.Hit(failpoint.StoreRename); err != nil {
		return false, err
	}
	// A link never replaces a store that somebody else made meanwhile; a rename would.
	switch err := os.Link(temp, o.Path); {
	case errors.Is(err, fs.ErrExist):
		return false, nil
	case err != nil:
		if err := os.Rename(temp, o.Path); err != nil { // a file system without links
			return false, err
		}
	}
	step("named")
	return true, durable.SyncDir(dir)
}

func fill(temp string, o Options, step func(string)) error {
	db, err := bbolt.Open(temp, 0o600, &bbolt.Options{Timeout: o.LockTimeout, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return err
	}
	step("initialised")
	_, err = migrations.Apply(db, migrations.Options{Log: o.Log})
	if err == nil {
		step("schema made")
		err = db.Update(func(tx *bbolt.Tx) error {
			return errors.Join(describe(tx, o), failpoint.Hit(failpoint.StoreMake))
		})
	}
	return errors.Join(err, db.Close())
}
