package migrations

import (
	"errors"
	"fmt"
	"log/slog"
	"strconv"

	"go.etcd.io/bbolt"

	"scv/internal/failpoint"
)

// step brings a store from schema to-1 to schema to.
type step struct {
	to    int
	what  string // for the log, such as "split confirms"
	apply func(*bbolt.Tx) error
}

// steps is the whole past, in order. A released step is never changed: a mistake in one is mended by
// the next.
var steps = []step{
	{to: 1, what: "create the first schema", apply: createSchema1},
	{to: 2, what: "add the reports of delegations and the restarts", apply: addReportsAndRestarts},
	{to: 3, what: "add the cursors of accounts", apply: addCursors},
	{to: 4, what: "let messages and answers have files", apply: addFiles},
}

// Newest is the schema this program writes.
func Newest() int { return steps[len(steps)-1].to }

// Where the schema number stands. These two names are frozen for ever.
var (
	metaBucket = []byte("meta")
	schemaKey  = []byte("schema")
)

// NewerError refuses a store that a newer program wrote.
type NewerError struct{ Store, Program int }

func (e *NewerError) Error() string {
	return fmt.Sprintf("the store has schema %d and this scv knows schemas up to %d: "+
		"install the newer scv again, or restore a backup made before it was installed", e.Store, e.Program)
}

// ErrNoNumber says that a store does not tell its schema: it is damaged.
var ErrNoNumber = errors.New("cannot read the store's schema number")

// Schema reads the schema number: 0 for a store in which nothing was made yet.
func Schema(tx *bbolt.Tx) (int, error) {
	meta := tx.Bucket(metaBucket)
	if meta == nil {
		if name, _ := tx.Cursor().First(); name != nil {
			return 0, fmt.Errorf("%w: there is no bucket %q", ErrNoNumber, metaBucket)
		}
		return 0, nil
	}
	raw := meta.Get(schemaKey)
	n, err := strconv.Atoi(string(raw))
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%w: it is %d bytes that are no positive number", ErrNoNumber, len(raw))
	}
	return n, nil
}

// Options are what Apply needs besides the store.
type Options struct {
	// Backup keeps a copy of the store, still of the given schema, before the first step that changes
	// what is there. Its error stops the migration. It is not called for a store that is being made.
	Backup func(schema int) error
	Log    *slog.Logger
}

// Apply brings the store to the newest schema and returns the one it had. Every step is one
// transaction that also moves the schema number, so a kill leaves the old schema or the new one. The
// error is a *NewerError for a store from the future.
func Apply(db *bbolt.DB, o Options) (from int, err error) { return apply(db, steps, o) }

func apply(db *bbolt.DB, table []step, o Options) (from int, err error) {
	err = db.View(func(tx *bbolt.Tx) error {
		from, err = Schema(tx)
		return err
	})
	if err != nil {
		return 0, err
	}
	newest := table[len(table)-1].to
	if from > newest {
		return from, &NewerError{Store: from, Program: newest}
	}
	if from == newest {
		return from, nil
	}
	if from > 0 {
		if err := o.Backup(from); err != nil {
			return from, fmt.Errorf("cannot back up the store before its migration: %w", err)
		}
	}
	for _, s := range table {
		if s.to <= from {
			continue
		}
		if err := run(db, s); err != nil {
			return from, err
		}
		o.Log.Info("store migrated", "schema", s.to, "step", s.what)
	}
	return from, nil
}

// run makes one step and its schema number durable together.
func run(db *bbolt.DB, s step) error {
	err := db.Update(func(tx *bbolt.Tx) error {
		if err := s.apply(tx); err != nil {
			return err
		}
		if err := failpoint.Hit(failpoint.StoreMake); err != nil {
			return err
		}
		return tx.Bucket(metaBucket).Put(schemaKey, []byte(strconv.Itoa(s.to)))
	})
	if err != nil {
		return fmt.Errorf("cannot migrate the store to schema %d (%s): %w", s.to, s.what, err)
	}
	return nil
}
