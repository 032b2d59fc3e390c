package store

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"go.etcd.io/bbolt"

	"scv/internal/failpoint"
)

// groupLimit bounds how many calls share one commit.
const groupLimit = 256

// call is one function that waits to be run by the writer.
type call struct {
	fn   func(*txn) error
	done chan error // gets exactly one answer
}

// write hands fn to the writer and waits for its answer. ctx bounds only the wait for a turn: once the
// writer took it, the answer is the truth.
func (s *Store) write(ctx context.Context, fn func(*txn) error) error {
	c := &call{fn: fn, done: make(chan error, 1)}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.held.Load().wait(ctx, s.closing); err != nil {
		return err
	}
	select {
	case s.calls <- c:
		return <-c.done
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closing:
		return errClosed
	}
}

// writer runs all writes of a store, one group after the other, until Close.
func (s *Store) writer() {
	defer close(s.written)
	debug.SetPanicOnFault(true) // a damaged page must not end the process
	for {
		select {
		case first := <-s.calls:
			s.runGroup(s.gather(first))
		case <-s.closing:
			return
		}
	}
}

// gather takes along whoever waits already. The channel has no buffer, so who is not taken can still
// give up.
func (s *Store) gather(first *call) []*call {
	group := []*call{first}
	for len(group) < groupLimit {
		select {
		case c := <-s.calls:
			group = append(group, c)
		default:
			return group
		}
	}
	return group
}

// runGroup answers every call of a group. A call that fails after it wrote spoils the transaction: it
// is rolled back, the rest runs again together, and the guilty alone afterwards, so that its failure
// never rests on a neighbour's write that came to nothing.
func (s *Store) runGroup(group []*call) {
	var guilty []*call
	for len(group) > 0 {
		spoiler := s.attempt(group)
		if spoiler < 0 {
			break
		}
		if len(group) == 1 {
			break // alone already, and answered
		}
		guilty = append(guilty, group[spoiler])
		group = append(group[:spoiler:spoiler], group[spoiler+1:]...)
	}
	for _, c := range guilty {
		s.attempt([]*call{c})
	}
}

// attempt runs calls in one transaction and answers them all after its commit. It returns the index of
// one that failed after writing, and then nothing was written and none of several is answered.
func (s *Store) attempt(group []*call) (spoiler int) {
	tx, err := s.begin()
	if err != nil {
		answer(group, nil, err)
		return -1
	}
	results := make([]error, len(group))
	t := &txn{s: s, tx: tx}
	wrote := false
	for i, c := range group {
		t.dirty = false
		results[i] = s.protect(func() error { return c.fn(t) })
		if results[i] != nil && t.dirty {
			s.rollback(tx)
			if len(group) == 1 {
				c.done <- results[i]
			}
			return i
		}
		wrote = wrote || t.dirty
	}
	if !wrote { // reads and refusals cost no sync
		s.rollback(tx)
		answer(group, results, nil)
		return -1
	}
	if failpoint.Broken(failpoint.BrokenAck) {
		answer(group, results, nil)
		_ = s.commit(tx)
		return -1
	}
	answer(group, results, s.commit(tx))
	return -1
}

// answer gives every call its result, or all of them the failure of the commit: a refusal may rest on a
// neighbour's write, so it stands only with it.
func answer(group []*call, results []error, failure error) {
	for i, c := range group {
		if failure != nil {
			c.done <- failure
		} else {
			c.done <- results[i]
		}
	}
}

// begin starts a write transaction, on a fresh handle when the last one is suspect.
func (s *Store) begin() (tx *bbolt.Tx, err error) {
	if err := s.reopen(); err != nil {
		return nil, unavailable("cannot open the store again", err)
	}
	err = s.protect(func() (err error) {
		tx, err = s.handle.db.Begin(true)
		return err
	})
	if err != nil {
		s.suspect = true
		s.handle.stuck.Store(errors.Is(err, errPanicked)) // then bbolt may still hold its locks
		return nil, unavailable("cannot begin a write", err)
	}
	return tx, nil
}

// commit makes a transaction durable. After any failure the handle is suspect: what the file holds of
// the transaction is unknown, and a second sync could report a success that was none.
func (s *Store) commit(tx *bbolt.Tx) error {
	finished := false
	err := s.protect(func() error {
		if err := failpoint.Hit(failpoint.StoreCommitBefore); err != nil {
			finished = true
			return errors.Join(err, tx.Rollback())
		}
		err := tx.Commit()
		finished = true
		return errors.Join(err, failpoint.Hit(failpoint.StoreCommitAfter))
	})
	if err == nil {
		s.commits.Add(1)
		return nil
	}
	s.suspect = true
	if !finished { // it panicked, and bbolt still holds its locks: never call it again
		s.handle.stuck.Store(true)
	}
	s.log.Error("store cannot be written", "path", s.path, "err", err)
	return unavailable("cannot commit to the store", err)
}

// rollback undoes a transaction. A damaged file can make even that panic.
func (s *Store) rollback(tx *bbolt.Tx) {
	if err := s.protect(tx.Rollback); err != nil {
		s.suspect = true
		s.handle.stuck.Store(true)
	}
}

var errPanicked = errors.New("the store transaction could not be finished")

// protect turns a panic of fn into an error, with the stack in the log. Words that a program chose to
// panic with may hold a message's text, so only the runtime's own are kept.
func (s *Store) protect(fn func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			what := fmt.Sprintf("a panic (%T)", r)
			if fault, ok := r.(runtime.Error); ok {
				what = fault.Error()
			}
			s.log.Error("panic in a store transaction", "path", s.path, "what", what, "stack", string(debug.Stack()))
			err = fmt.Errorf("%w: %s; the log has the stack", errPanicked, what)
		}
	}()
	return fn()
}
