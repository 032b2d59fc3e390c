package store

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
)

// chunk bounds how many records one transaction changes in bulk: larger ones stop everyone.
const chunk = 500

// QuarantineEntry names a record that could not be read.
type QuarantineEntry struct {
	Bucket string
	Key    string // as shown to a person
	Reason string
}

// Quarantined lists the records in quarantine, by bucket and key.
func (v *View) Quarantined() (entries []QuarantineEntry) {
	for key, rec := range ascend[Quarantined](v.t, tableQuarantine, nil) {
		bucket, shown := originOf(key)
		entries = append(entries, QuarantineEntry{bucket, shown, rec.Reason})
	}
	return entries
}

// Quarantined lists the records in quarantine.
func (s *Store) Quarantined() (entries []QuarantineEntry) {
	err := s.View(func(v *View) error {
		entries = v.Quarantined()
		return nil
	})
	if err != nil {
		s.log.Error("quarantine cannot be listed", "err", err)
	}
	return entries
}

// DropQuarantined removes one entry for good.
func (i *Intent) DropQuarantined(e QuarantineEntry) error {
	var found []byte
	for key := range ascend[Quarantined](i.t, tableQuarantine, nil) {
		if bucket, shown := originOf(key); bucket == e.Bucket && shown == e.Key {
			found = slices.Clone(key)
		}
	}
	if found == nil {
		return fmt.Errorf("cannot drop %s %q from quarantine: %w", e.Bucket, e.Key, ErrMissing)
	}
	return i.t.remove(tableQuarantine, found)
}

// originOf says where the record under a key of the quarantine came from.
func originOf(key []byte) (bucket, shown string) {
	bucket, rest, _ := strings.Cut(string(key), "/")
	if table := tableNamed(bucket); table != nil {
		return bucket, table.form.text([]byte(rest))
	}
	return bucket, printable(rest)
}

func tableNamed(name string) *Table {
	for _, table := range Schema {
		if table.Name == name {
			return table
		}
	}
	return nil
}

// badRecord is a record that its table cannot read.
type badRecord struct {
	table  *Table
	key    []byte
	reason error
}

// findBad reads every record of the store.
func findBad(t *txn) (bad []badRecord) {
	for _, table := range Schema {
		c := t.bucket(table).Cursor()
		for key, raw := c.First(); key != nil; key, raw = c.Next() {
			if _, err := table.read(table, key, raw); err != nil {
				bad = append(bad, badRecord{table, slices.Clone(key), err})
			}
		}
	}
	return bad
}

// quarantineAll moves every bad record out of the way, so that the rest can be used.
func (s *Store) quarantineAll(ctx context.Context, o Options) error {
	var bad []badRecord
	err := s.read(func(t *txn) error {
		bad = findBad(t)
		return nil
	})
	if err != nil {
		return err
	}
	for some := range slices.Chunk(bad, chunk) {
		if err := s.write(ctx, func(t *txn) error { return t.quarantine(some) }); err != nil {
			return err
		}
	}
	return s.write(ctx, func(t *txn) error {
		if t.bucket(tableMeta).Get(aboutKey) != nil {
			return nil
		}
		t.dirty = true
		return describe(t.tx, o)
	})
}

func (t *txn) quarantine(bad []badRecord) error {
	for _, b := range bad {
		name := b.table.Name + "/" + b.table.form.text(b.key)
		raw := t.bucket(b.table).Get(b.key)
		if raw == nil { // a bucket where a record should be: it cannot be moved, and no read sees it
			t.s.complain(b.table, b.key, b.reason)
			continue
		}
		kept := Quarantined{Reason: b.reason.Error(), Value: bytes.Clone(raw), At: t.s.clock.Now()}
		if err := t.remove(b.table, b.key); err != nil {
			return err
		}
		if err := put(t, tableQuarantine, accountTextKey(b.table.Name, string(b.key)), kept); err != nil {
			return err
		}
		if err := t.addJournal("quarantined", "daemon", "record "+name+": "+kept.Reason, nil); err != nil {
			return err
		}
		t.s.log.Error("store record moved to quarantine", "record", name, "reason", kept.Reason)
	}
	return nil
}
