package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"go.etcd.io/bbolt"

	"scv/internal/failpoint"
	"scv/migrations"
)

// The tools here replace the file of a store that no daemon holds. Each works on a copy aside, verifies
// it, keeps the old file under another name, and only then lets the new one take its place: killed at any
// moment, it leaves the old store or the new one.

// Tool is what every such tool works on.
type Tool struct {
	Path   string // of the store
	Lock   string // of the home: the daemon's, so that none can start meanwhile
	PID    int    // of this process, for who finds the lock taken
	At     time.Time
	Log    *slog.Logger
	Verify Verify

	step func(string) // for tests: called between the steps of a change
}

// Changed is what a tool did.
type Changed struct {
	Kept          string // where the old file is now; "" when there was none, or nothing was changed
	Before, After int64  // bytes
	From, To      int    // schema; only from Migrate
}

// Restore puts a copy of the file from in the place of the store. The error is ErrLocked beside a daemon.
func (t Tool) Restore(ctx context.Context, from string) (Changed, error) {
	return t.replace(ctx, "restore", from, func(temp string) error { return copyBytes(ctx, from, temp) })
}

// Compact rewrites the store without its free pages.
func (t Tool) Compact(ctx context.Context) (Changed, error) {
	return t.replace(ctx, "compact", t.Path, func(temp string) error { return compactInto(ctx, t.Path, temp) })
}

// Migrate brings the store to the newest schema; one that has it is left alone.
func (t Tool) Migrate(ctx context.Context) (Changed, error) {
	from := 0
	done, err := t.replace(ctx, "migrate", t.Path, func(temp string) (err error) {
		if err = copyPages(ctx, t.Path, temp); err == nil {
			from, err = migrateFile(temp, t.Log)
		}
		if err == nil && from == migrations.Newest() {
			err = errNothing
		}
		return err
	})
	if errors.Is(err, errNothing) {
		err = nil
	}
	done.From, done.To = from, migrations.Newest()
	return done, err
}

// errNothing ends a tool that finds nothing to do.
var errNothing = errors.New("nothing to do")

// keepAttempts bounds the names tried for an old file: tools run seconds apart, not thousands a second.
const keepAttempts = 100

// replace makes the new file out of source, which is verified before this process maps it.
func (t Tool) replace(ctx context.Context, what, source string, fill func(temp string) error) (done Changed, err error) {
	release, err := t.lockHome()
	if err != nil {
		return done, fmt.Errorf("cannot %s the store: %w", what, err)
	}
	defer release()
	step := t.step
	if step == nil {
		step = func(string) {}
	}
	if err := t.Verify(ctx, source); err != nil {
		return done, fmt.Errorf("cannot %s the store from %q: %w", what, source, err)
	}
	done.Before = sizeOf(t.Path)
	err = makeFile(t.Path, func(temp string) error {
		step("begun")
		if err := fill(temp); err != nil {
			return err
		}
		step("filled")
		return t.Verify(ctx, temp)
	}, func(temp, path string) (err error) {
		step("verified")
		if done.Kept, err = keepOld(path, what, t.At); err != nil {
			return err
		}
		step("kept")
		if err := failpoint.Hit(failpoint.StoreRename); err != nil {
			return err
		}
		err = os.Rename(temp, path) // the note of the last close fits no other file
		step("renamed")
		return err
	})
	if err != nil {
		return Changed{}, fmt.Errorf("cannot %s the store %q: %w", what, t.Path, err)
	}
	done.After = sizeOf(t.Path)
	return done, nil
}

// keepOld gives the present file a second name, so that there is always one under the first.
func keepOld(path, what string, at time.Time) (kept string, err error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err := failpoint.Hit(failpoint.StoreRename); err != nil {
		return "", err
	}
	name := path + keptSuffix + "-" + what + "-" + stamp(at)
	for n := range keepAttempts {
		kept = name
		if n > 0 {
			kept = fmt.Sprintf("%s.%d", name, n)
		}
		if err = os.Link(path, kept); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if err != nil {
		return "", fmt.Errorf("cannot keep the old file: %w", err)
	}
	return kept, nil
}

func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// lockHome takes the daemon's own lock, so that no daemon holds the store and none can start.
func (t Tool) lockHome() (release func(), err error) {
	file, err := os.OpenFile(t.Lock, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockNow(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if _, err := file.WriteAt(fmt.Appendf(nil, "%-20d\n", t.PID), 0); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if err := removeLeftovers(t.Path); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() { _ = file.Close() }, nil
}

// compactTx bounds one transaction of a compaction.
const compactTx = 1 << 20

func compactInto(ctx context.Context, from, temp string) error {
	h, err := openHandle(ctx, from, handleOptions{readOnly: true, timeout: toolLockTimeout})
	if err != nil {
		return err
	}
	to, err := openOwn(temp)
	if err != nil {
		return errors.Join(err, h.close())
	}
	err = h.view(func(*bbolt.Tx) error { return bbolt.Compact(to, h.db, compactTx) })
	return errors.Join(err, to.Close(), h.close())
}

func migrateFile(path string, log *slog.Logger) (from int, err error) {
	db, err := openOwn(path)
	if err != nil {
		return 0, err
	}
	kept := func(int) error { return nil } // the caller keeps the old file
	from, err = migrations.Apply(db, migrations.Options{Backup: kept, Log: log})
	return from, errors.Join(err, db.Close())
}

// openOwn opens a file that only this process knows.
func openOwn(path string) (*bbolt.DB, error) {
	return bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second, FreelistType: bbolt.FreelistMapType})
}
