package store

import (
	"context"
	"fmt"
	"io"
	"os"
)

// Snapshot writes a consistent copy of the store to path, a 0600 file that appears whole. It is the one
// read that lasts: while it runs, writes go on, unless the file must outgrow its map.
func (s *Store) Snapshot(ctx context.Context, path string) error {
	err := writeDurably(path, func(file *os.File) error { return s.writeTo(ctx, file) })
	if err != nil {
		return fmt.Errorf("cannot copy the store to %q: %w", path, err)
	}
	return nil
}

func (s *Store) writeTo(ctx context.Context, to io.Writer) error {
	w := &boundWriter{ctx: ctx, to: to}
	err := s.read(func(t *txn) error {
		_, err := t.tx.WriteTo(w)
		return err
	})
	if err != nil && w.err != nil {
		return w.err // of some of them bbolt gives the words alone
	}
	return err
}

// boundWriter gives up between two writes when ctx has ended, and remembers what went wrong.
type boundWriter struct {
	ctx context.Context
	to  io.Writer
	err error
}

func (b *boundWriter) Write(p []byte) (n int, err error) {
	if err = b.ctx.Err(); err == nil {
		n, err = b.to.Write(p)
	}
	b.err = err
	return n, err
}
