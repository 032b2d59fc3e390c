package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Difference is one record that is not the same in two stores.
type Difference struct {
	Bucket string         `json:"bucket"`
	Key    string         `json:"key"`
	Before jsontext.Value `json:"before,omitzero"` // nil: it was not there
	After  jsontext.Value `json:"after,omitzero"`  // nil: it is gone
}

// FileError says which of two files could not be read.
type FileError struct {
	Path string
	Err  error
}

func (e *FileError) Error() string { return fmt.Sprintf("cannot compare %q: %v", e.Path, e.Err) }

func (e *FileError) Unwrap() error { return e.Err }

type rowName struct{ bucket, key string }

// Diff gives what changed from one store file to another: first what is gone or changed, then what is
// new, each in the order of a dump. Damaged files are compared as far as they can be read, and the error,
// a *FileError, comes after the rest. The first file's records are held in memory.
func Diff(ctx context.Context, before, after string, o DumpOptions, emit func(Difference) error) error {
	old := map[rowName]jsontext.Value{}
	var order []rowName
	errOld := fileError(before, DumpFile(ctx, before, o, func(r Row) error {
		name := rowName{r.Bucket, r.Key}
		old[name], order = r.Value, append(order, name)
		return nil
	}))
	if errOld != nil && !errors.Is(errOld, ErrDamaged) {
		return errOld
	}
	changed := map[rowName]jsontext.Value{}
	var added []Difference
	errNew := fileError(after, DumpFile(ctx, after, o, func(r Row) error {
		name := rowName{r.Bucket, r.Key}
		was, known := old[name]
		switch {
		case !known:
			added = append(added, Difference{r.Bucket, r.Key, nil, r.Value})
		case bytes.Equal(was, r.Value):
			delete(old, name)
		default:
			changed[name] = r.Value
		}
		return nil
	}))
	if errNew != nil && !errors.Is(errNew, ErrDamaged) {
		return errNew
	}
	for _, name := range order {
		if was, differs := old[name]; differs {
			if err := emit(Difference{name.bucket, name.key, was, changed[name]}); err != nil {
				return err
			}
		}
	}
	for _, d := range added {
		if err := emit(d); err != nil {
			return err
		}
	}
	return errors.Join(errOld, errNew)
}

func fileError(path string, err error) error {
	if err == nil {
		return nil
	}
	return &FileError{path, err}
}
