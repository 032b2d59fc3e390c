package channel

import (
	"errors"
	"io"
)

// CopyAtMost copies what a Carrier fetches: all of r, of which at most limit bytes are written. What has more is
// ErrTooLarge.
func CopyAtMost(w io.Writer, r io.Reader, limit int64) error {
	n, err := io.Copy(w, io.LimitReader(r, limit))
	if err != nil || n < limit {
		return err
	}
	switch n, err := io.ReadFull(r, make([]byte, 1)); {
	case n > 0:
		return ErrTooLarge
	case !errors.Is(err, io.EOF):
		return err
	}
	return nil
}
