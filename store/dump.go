package store

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.etcd.io/bbolt"
)

// Row is one record as a dump shows it.
type Row struct {
	Bucket string         `json:"bucket"`
	Key    string         `json:"key"`
	Value  jsontext.Value `json:"value"` // the record with its secrets as {"bytes":…,"sha256":…}
	// Lost says that it was on a page of a damaged file that nothing points to: it may be an old one.
	Lost bool `json:"lost,omitzero"`
}

// DumpOptions say how much a dump shows.
type DumpOptions struct {
	Texts bool // also the texts of messages
}

// How long offline tools wait for the lock, and how many rows one read of a dump takes.
const (
	toolLockTimeout = time.Second
	dumpPage        = 500
)

// DumpFile gives every record of a store that no daemon holds, by bucket and key, and changes not a
// byte of it. Of a damaged file it gives what can be read, page by page, and the error, ErrDamaged, comes
// after the rest. It is ErrLocked, naming the holder, when the store is in use: then ask the daemon for a snapshot.
func DumpFile(ctx context.Context, path string, o DumpOptions, emit func(Row) error) error {
	file, err := openLocked(ctx, path)
	if err != nil {
		return err
	}
	return errors.Join(dumpPages(ctx, file, o, emit), file.Close())
}

// Dump is DumpFile for an open store. No transaction is open while emit runs.
func (s *Store) Dump(ctx context.Context, o DumpOptions, emit func(Row) error) error {
	view := func(fn func(*bbolt.Tx) error) error {
		return s.read(func(t *txn) error { return fn(t.tx) })
	}
	return dump(ctx, view, o, emit)
}

// view runs fn in a read transaction and turns what a damaged page does to it into an error.
func (h *handle) view(fn func(*bbolt.Tx) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: a page cannot be read (%v)", ErrDamaged, r)
		}
	}()
	return h.db.View(fn)
}

type viewFunc func(func(*bbolt.Tx) error) error

func dump(ctx context.Context, view viewFunc, o DumpOptions, emit func(Row) error) error {
	var partial []error
	for _, table := range Schema {
		var last []byte
		for more := true; more; {
			var rows []Row
			err := view(func(tx *bbolt.Tx) error {
				rows, last, more = dumpRows(tx, table, last, o)
				return nil
			})
			if err != nil { // the rest of this bucket is lost; the others may not be
				partial, more = append(partial, fmt.Errorf("bucket %s is shown in part: %w", table.Name, err)), false
			}
			for _, row := range rows {
				if err := emit(row); err != nil {
					return err
				}
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
	return errors.Join(partial...)
}

// dumpRows makes the rows of one page: those after the key last.
func dumpRows(tx *bbolt.Tx, table *Table, last []byte, o DumpOptions) (rows []Row, end []byte, more bool) {
	b := tx.Bucket([]byte(table.Name))
	if b == nil { // an older schema, or damage
		return nil, nil, false
	}
	c := b.Cursor()
	key, raw := c.Seek(last)
	if last != nil && slices.Equal(key, last) {
		key, raw = c.Next()
	}
	for ; key != nil; key, raw = c.Next() {
		if len(rows) == dumpPage {
			return rows, end, true
		}
		rows = append(rows, Row{table.Name, table.form.text(key), table.show(key, raw, o), false})
		end = slices.Clone(key)
	}
	return rows, end, false
}
