package store

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"scv/migrations"
)

// maxProblems bounds how many problems a check lists.
const maxProblems = 50

// Check looks for damage in a store that nobody holds, and changes not a byte of it. A badly damaged
// file can kill the process that maps it, so check an unknown one in a child process.
func Check(ctx context.Context, path string) error {
	h, err := openHandle(ctx, path, handleOptions{readOnly: true, timeout: toolLockTimeout})
	if err != nil {
		return err
	}
	return errors.Join(h.view(checkAll), h.close())
}

// Check looks for damage in an open store. Writes wait for it: bbolt's own check may not run beside one.
func (s *Store) Check(ctx context.Context) error {
	return s.write(ctx, func(t *txn) error { return checkAll(t.tx) })
}

// checkPages looks at the structure of the file.
func checkPages(tx *bbolt.Tx) error {
	var found problems
	for err := range tx.Check() { // its goroutine ends only when the channel is drained
		found.add("page structure: %w", err)
	}
	return found.err()
}

// checkAll looks at the pages and then at every record.
func checkAll(tx *bbolt.Tx) error {
	if err := checkPages(tx); err != nil {
		return err
	}
	var found problems
	if schema, err := migrations.Schema(tx); err != nil {
		found.add("%w", err)
	} else if schema != migrations.Newest() {
		found.add("it has schema %d and this scv knows %d", schema, migrations.Newest())
	}
	found.checkRecords(tx, func() {})
	return found.err()
}

type problems struct {
	list []error
	more int
}

func (p *problems) add(format string, args ...any) {
	if len(p.list) < maxProblems {
		p.list = append(p.list, fmt.Errorf(format, args...))
	} else {
		p.more++
	}
}

// all lists them, with a word on those that were too many.
func (p *problems) all() []error {
	if p.more > 0 {
		return append(p.list[:len(p.list):len(p.list)], fmt.Errorf("and %d more", p.more))
	}
	return p.list
}

func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrDamaged, errors.Join(p.all()...))
}

// checkRecords reads every record; each tells of one.
func (p *problems) checkRecords(tx *bbolt.Tx, each func()) {
	for _, table := range Schema {
		p.checkTable(tx, table, each)
	}
	p.checkConfirms(tx)
}

func (p *problems) checkTable(tx *bbolt.Tx, table *Table, each func()) {
	b := tx.Bucket([]byte(table.Name))
	if b == nil {
		p.add("bucket %s is missing", table.Name)
		return
	}
	c := b.Cursor()
	for key, raw := c.First(); key != nil; key, raw = c.Next() {
		each()
		if _, err := table.read(table, key, raw); err != nil {
			p.add("record %s/%s: %w", table.Name, table.form.text(key), err)
		}
	}
}

// checkConfirms looks for a question that is both open and ended.
func (p *problems) checkConfirms(tx *bbolt.Tx) {
	open, ended := tx.Bucket([]byte(tableConfirms.Name)), tx.Bucket([]byte(tableConfirmsEnded.Name))
	if open == nil || ended == nil {
		return
	}
	c := open.Cursor()
	for key, _ := c.First(); key != nil; key, _ = c.Next() {
		if ended.Get(key) != nil {
			p.add("question %s is both open and ended", printable(string(key)))
		}
	}
}
