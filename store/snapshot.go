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
	return s.read(func(t *txn) error {
		_, err := t.tx.WriteTo(&boundWriter{ctx, to})
		return err
	})
}

// boundWriter gives up between two writes when ctx has ended.
type boundWriter struct {
	ctx context.Context
	to  io.Writer
}

func (b *boundWriter) Write(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	return b.to.Write(p)
}
