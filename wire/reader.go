package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// field is one key of a message: how it is read and whether it may be missing. The list of a
// message's fields stands beside its type, so that what the language demands can be seen there.
type field struct {
	name string
	must bool
	read func(*reader) error
}

// required makes a field that must be there and must not be null.
func required[T any](name string, to *T, read func(*reader) (T, error)) field {
	return field{name, true, func(r *reader) (err error) {
		*to, err = read(r)
		return err
	}}
}

// defaulted makes a field that has a value when it is missing; null in its place is an error.
func defaulted[T any](name string, to *T, value T, read func(*reader) (T, error)) field {
	*to = value
	f := required(name, to, read)
	f.must = false
	return f
}

// optional makes a field that is nil when it is missing or null.
func optional[T any](name string, to **T, read func(*reader) (T, error)) field {
	return field{name, false, func(r *reader) error {
		if r.dec.PeekKind() == 'n' {
			*to = nil
			_, err := r.token()
			return err
		}
		v, err := read(r)
		*to = &v
		return err
	}}
}

// reader reads one JSON text in one pass. The decoder under it refuses duplicate keys and invalid
// UTF-8, in unknown fields too.
type reader struct{ dec *jsontext.Decoder }

func decode[T any](data []byte, read func(*reader) (T, error)) (T, error) {
	r := &reader{jsontext.NewDecoder(bytes.NewBuffer(data))}
	v, err := read(r)
	if err == nil {
		err = r.end()
	}
	if err != nil {
		var zero T
		return zero, err
	}
	return v, nil
}

// token reads on, and keeps the nesting within bounds.
func (r *reader) token() (jsontext.Token, error) {
	t, err := r.dec.ReadToken()
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return t, errors.New("a key stands twice")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return t, errors.New("the JSON ends too early")
	case err != nil: // its text would quote what was sent
		return t, fmt.Errorf("not JSON at byte %d", r.dec.InputOffset())
	case r.dec.StackDepth() > MaxNesting:
		return t, fmt.Errorf("nested deeper than %d levels", MaxNesting)
	}
	return t, nil
}

func (r *reader) end() error {
	if _, err := r.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("something follows the message at byte %d", r.dec.InputOffset())
	}
	return nil
}

// skip passes over one value of an unknown field.
func (r *reader) skip() error {
	for depth := r.dec.StackDepth(); ; {
		if _, err := r.token(); err != nil {
			return err
		}
		if r.dec.StackDepth() == depth {
			return nil
		}
	}
}

func (r *reader) open(kind jsontext.Kind, what string) error {
	t, err := r.token()
	if err == nil && t.Kind() != kind {
		err = fmt.Errorf("must be %s", what)
	}
	return err
}

func readObject[T any, P Message[T]](r *reader) (T, error) {
	var v T
	err := r.object(P(&v).fields())
	return v, err
}

func (r *reader) object(fields []field) error {
	if err := r.open('{', "an object"); err != nil {
		return err
	}
	seen := make([]bool, len(fields))
	for {
		t, err := r.token()
		if err != nil {
			return err
		}
		if t.Kind() == '}' {
			return missing(fields, seen)
		}
		if err := r.member(fields, seen, t.String()); err != nil {
			return err
		}
	}
}

func (r *reader) member(fields []field, seen []bool, name string) error {
	for i, f := range fields {
		if f.name != name {
			continue
		}
		seen[i] = true
		if err := f.read(r); err != nil {
			return fmt.Errorf("field %q: %w", name, err)
		}
		return nil
	}
	return r.skip()
}

func missing(fields []field, seen []bool) error {
	for i, f := range fields {
		if f.must && !seen[i] {
			return fmt.Errorf("field %q is missing", f.name)
		}
	}
	return nil
}

func listOf[T any](read func(*reader) (T, error)) func(*reader) ([]T, error) {
	return func(r *reader) ([]T, error) {
		if err := r.open('[', "a list"); err != nil {
			return nil, err
		}
		list := []T{}
		for r.dec.PeekKind() != ']' {
			v, err := read(r)
			if err != nil {
				return nil, fmt.Errorf("item %d: %w", len(list)+1, err)
			}
			list = append(list, v)
		}
		_, err := r.token()
		return list, err
	}
}

func readText(r *reader) (string, error) {
	t, err := r.token()
	if err == nil && t.Kind() != '"' {
		err = errors.New("must be a string")
	}
	if err != nil {
		return "", err
	}
	return t.String(), nil
}

func readBool(r *reader) (bool, error) {
	t, err := r.token()
	if err == nil && t.Kind() != 't' && t.Kind() != 'f' {
		err = errors.New("must be true or false")
	}
	return err == nil && t.Kind() == 't', err
}

func readUint64(r *reader) (uint64, error) { return r.unsigned(64) }

func readUint32(r *reader) (uint32, error) {
	n, err := r.unsigned(32)
	return uint32(n), err
}

// unsigned takes digits only: 1.0 and 1e3 are no integers here, as in the seed.
func (r *reader) unsigned(bits int) (uint64, error) {
	t, err := r.token()
	if err != nil {
		return 0, err
	}
	if t.Kind() == '0' {
		if n, err := strconv.ParseUint(t.String(), 10, bits); err == nil {
			return n, nil
		}
	}
	return 0, fmt.Errorf("must be a whole number from 0 to 2^%d-1", bits)
}

// oneOf reads one of a closed set of names.
func oneOf[T ~string](names ...T) func(*reader) (T, error) {
	return func(r *reader) (T, error) {
		text, err := readText(r)
		if err != nil {
			return "", err
		}
		for _, name := range names {
			if string(name) == text {
				return name, nil
			}
		}
		return "", fmt.Errorf("must be one of %q", names)
	}
}
