package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"go.etcd.io/bbolt"

	"scv/migrations"
)

// Report is what a look through a store found.
type Report struct {
	Schema  int    `json:"schema"`
	Newest  int    `json:"newest_schema"` // that this program knows
	Records int    `json:"records"`
	Bytes   int64  `json:"bytes"` // of the file
	Free    int64  `json:"free_bytes"`
	Damage  string `json:"damage,omitzero"`  // of the file: it cannot be used
	Failure string `json:"failure,omitzero"` // why nobody could look, such as a lock; nothing is known then
	Locked  bool   `json:"locked,omitzero"`  // and that it was a lock
	Errno   int    `json:"errno,omitzero"`   // and what the system said
	// Flaws are records that cannot be read, and the like: the store can be used without them.
	Flaws []string `json:"flaws,omitzero"`
}

// Sound reports whether there is nothing to complain of.
func (r Report) Sound() bool { return r.Damage == "" && len(r.Flaws) == 0 }

// Err is the damage as an error, nil when the file can be used.
func (r Report) Err() error {
	if r.Damage == "" {
		return nil
	}
	if strings.Contains(r.Damage, ErrDamaged.Error()) {
		return saidFailure{r.Damage, ErrDamaged}
	}
	return fmt.Errorf("%w: %s", ErrDamaged, r.Damage)
}

// Newer says that a later scv wrote the store, nil otherwise.
func (r Report) Newer() error {
	if r.Schema <= r.Newest {
		return nil
	}
	return &migrations.NewerError{Store: r.Schema, Program: r.Newest}
}

// Fail notes why nobody could look, for whoever reads the report in another process.
func (r *Report) Fail(err error) {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		r.Errno = int(errno)
	}
	r.Failure, r.Locked = err.Error(), errors.Is(err, ErrLocked)
}

// Failed is why nobody could look, nil if somebody could: of the same kind as the error that Fail was given.
func (r Report) Failed() error {
	switch {
	case r.Failure == "":
		return nil
	case r.Locked:
		return saidFailure{r.Failure, ErrLocked}
	case r.Errno != 0:
		return saidFailure{r.Failure, syscall.Errno(r.Errno)}
	}
	return errors.New(r.Failure)
}

// saidFailure is an error whose words have those of its kind among them already.
type saidFailure struct {
	words string
	kind  error
}

func (f saidFailure) Error() string { return f.words }
func (f saidFailure) Unwrap() error { return f.kind }

// Examine looks through the pages of a store that nobody holds, if asked through its records too, and
// changes not a byte of it. A badly damaged file can kill or hang the process that maps it: use a child
// process. The error is ErrLocked or of the file system; damage is in the report.
func Examine(ctx context.Context, path string, records bool) (r Report, err error) {
	h, err := openHandle(ctx, path, handleOptions{readOnly: true, timeout: toolLockTimeout})
	if err == nil {
		err = errors.Join(h.view(func(tx *bbolt.Tx) error { return r.examine(tx, records) }), h.close())
	}
	if errors.Is(err, ErrDamaged) {
		r.Damage, err = err.Error(), nil
	}
	return r, err
}

func (r *Report) examine(tx *bbolt.Tx, records bool) error {
	if err := checkPages(tx); err != nil {
		return err
	}
	r.Bytes, r.Newest = tx.Size(), migrations.Newest()
	stats := tx.DB().Stats()
	r.Free = int64(stats.FreePageN+stats.PendingPageN) * int64(tx.DB().Info().PageSize)
	schema, err := migrations.Schema(tx)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if r.Schema = schema; !records || schema != r.Newest {
		return nil // records of another schema only that one's program can judge
	}
	var found problems
	found.checkRecords(tx, func() { r.Records++ })
	for _, flaw := range found.all() {
		r.Flaws = append(r.Flaws, flaw.Error())
	}
	return nil
}
