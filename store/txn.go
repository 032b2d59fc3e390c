package store

import (
	"bytes"
	"errors"
	"fmt"
	"iter"

	"go.etcd.io/bbolt"
)

// ErrMissing is answered to an update of a record that is no longer there, such as one of an account
// that was logged out meanwhile.
var ErrMissing = errors.New("there is no such record")

// txn is one bbolt transaction as the methods of the nouns use it.
type txn struct {
	s     *Store
	tx    *bbolt.Tx
	dirty bool // something was written by the call under way
}

func (t *txn) bucket(table *Table) *bbolt.Bucket { return t.tx.Bucket([]byte(table.Name)) }

// get reads one record. A bad one counts as missing.
func get[T any](t *txn, table *Table, key []byte) (rec T, ok bool) {
	raw := t.bucket(table).Get(key)
	if raw == nil {
		return rec, false
	}
	return judged[T](t, table, key, raw)
}

func judged[T any](t *txn, table *Table, key, raw []byte) (rec T, ok bool) {
	read, err := table.read(table, key, raw)
	if err != nil {
		t.s.complain(table, key, err)
		return rec, false
	}
	return read.(T), true
}

// ascend gives the good records whose keys begin with prefix, in order. Nothing may be written
// meanwhile.
func ascend[T any](t *txn, table *Table, prefix []byte) iter.Seq2[[]byte, T] {
	return func(yield func([]byte, T) bool) {
		c := t.bucket(table).Cursor()
		for key, raw := c.Seek(prefix); key != nil && bytes.HasPrefix(key, prefix); key, raw = c.Next() {
			if rec, ok := judged[T](t, table, key, raw); ok && !yield(key, rec) {
				return
			}
		}
	}
}

// descendRaw gives the keys and bytes under prefix, the last first. Nothing may be written meanwhile.
func descendRaw(t *txn, table *Table, prefix []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func([]byte, []byte) bool) {
		c := t.bucket(table).Cursor()
		first, _ := c.First()
		if first == nil {
			return // bbolt's Last never returns where this transaction has emptied every leaf
		}
		key, raw := seekEnd(c, prefix, first)
		for ; key != nil && bytes.HasPrefix(key, prefix); key, raw = before(c, key, first) {
			if !yield(key, raw) {
				return
			}
		}
	}
}

// seekEnd moves to the last key that begins with prefix, or to one before it. first is the bucket's.
func seekEnd(c *bbolt.Cursor, prefix, first []byte) (key, raw []byte) {
	if after := successor(prefix); after != nil {
		if key, _ = c.Seek(after); key != nil {
			return before(c, key, first)
		}
	}
	return c.Last()
}

// before is c.Prev from a key, nil from the first. bbolt's own takes a leaf that this transaction has
// emptied for the beginning of the bucket; asked again, it goes on.
func before(c *bbolt.Cursor, at, first []byte) (key, raw []byte) {
	for key == nil && !bytes.Equal(at, first) {
		key, raw = c.Prev()
	}
	return key, raw
}

// successor is the least key that is greater than every key beginning with prefix; nil for "".
func successor(prefix []byte) []byte {
	next := bytes.Clone(prefix)
	for i := len(next) - 1; i >= 0; i-- {
		if next[i]++; next[i] != 0 {
			return next[:i+1]
		}
	}
	return nil
}

// accountsIn lists the accounts that have keys in a bucket of account keys.
func accountsIn(t *txn, table *Table) (accounts []string) {
	c := t.bucket(table).Cursor()
	key, _ := c.First()
	for key != nil {
		account, _, ok := splitAccount(key)
		if !ok { // damage: step over it
			key, _ = c.Next()
			continue
		}
		accounts = append(accounts, account)
		key, _ = c.Seek(successor(accountPrefix(account)))
	}
	return accounts
}

// put writes one record, after the same judgement that its next reading will pass.
func put[T any](t *txn, table *Table, key []byte, rec T) error {
	if err := table.admit(key, rec); err != nil {
		return fmt.Errorf("cannot store %s %q: %w", table.Name, table.form.text(key), err)
	}
	raw, err := encode(rec)
	if err != nil {
		return fmt.Errorf("cannot encode %s %q: %w", table.Name, table.form.text(key), err)
	}
	return t.putRaw(table, key, raw)
}

func (t *txn) putRaw(table *Table, key, raw []byte) error {
	t.dirty = true
	if err := t.bucket(table).Put(key, raw); err != nil {
		return fmt.Errorf("cannot write %s %q: %w", table.Name, table.form.text(key), err)
	}
	return nil
}

// replace writes a record that must be there.
func replace[T any](t *txn, table *Table, key []byte, rec T) error {
	if t.bucket(table).Get(key) == nil {
		return fmt.Errorf("cannot update %s %q: %w", table.Name, table.form.text(key), ErrMissing)
	}
	return put(t, table, key, rec)
}

// remove deletes a record; one that is not there is no error.
func (t *txn) remove(table *Table, key []byte) error {
	b := t.bucket(table)
	if b.Get(key) == nil {
		return nil
	}
	t.dirty = true
	if err := b.Delete(key); err != nil {
		return fmt.Errorf("cannot delete %s %q: %w", table.Name, table.form.text(key), err)
	}
	return nil
}

// next gives a sequence that this bucket never gave before.
func (t *txn) next(table *Table) (uint64, error) {
	t.dirty = true
	seq, err := t.bucket(table).NextSequence()
	if err != nil {
		return 0, fmt.Errorf("cannot number a record of %s: %w", table.Name, err)
	}
	return seq, nil
}

// appendSeq writes a record of an account under a new sequence.
func appendSeq[T any](t *txn, table *Table, account string, rec T) (uint64, error) {
	if err := checkAccount(account); err != nil {
		return 0, err
	}
	seq, err := t.next(table)
	if err != nil {
		return 0, err
	}
	return seq, put(t, table, accountSeqKey(account, seq), rec)
}
