package main

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

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
