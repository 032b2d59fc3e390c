package main

import (
	"context"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// awaited is what read returns, or the end of ctx if that comes first. A read of a terminal or a pipe cannot be
// interrupted: where ctx ends first, its goroutine ends with the process.
func awaited[T any](ctx context.Context, read func() (T, error)) (got T, err error) {
	type taken struct {
		got T
		err error
	}
	done := make(chan taken, 1)
	go func() {
		got, err := read()
		done <- taken{got, err}
	}()
	select {
	case <-ctx.Done():
		return got, context.Cause(ctx)
	case t := <-done:
		return t.got, t.err
	}
}

// readAll reads a reader to its end, or one byte more than a limit.
func readAll(ctx context.Context, r io.Reader, limit int64) ([]byte, error) {
	return awaited(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(r, limit+1)) })
}

// readerGone is EPIPE once nobody can read any more what w is given. A watch that has nothing new to say would
// never learn it from a write: `scv status --watch | head -1`.
func readerGone(w io.Writer) error {
	if s, ok := w.(*stickyWriter); ok {
		w = s.w
	}
	f, isFile := w.(*os.File)
	if !isFile {
		return nil
	}
	polled := []unix.PollFd{{Fd: int32(f.Fd())}}
	if n, err := unix.Poll(polled, 0); err == nil && n > 0 && polled[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
		return unix.EPIPE
	}
	return nil
}
