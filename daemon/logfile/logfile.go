// Package logfile keeps the daemon's log in its home: JSON lines in one file, and one older file. It
// takes at most twice MaxBytes of the disk.
//
// A log is less than the work it tells of. So nothing here ends the daemon or holds it up: what cannot be
// written (a full disk, a folder that somebody removed) is counted and left out, and the file says how
// much was once it can be written again. (A disk that hangs holds up the store beside it just the same.) Only the holder of the home's lock may open it.
package logfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// MaxBytes is how large one file grows (docs/rules.md §10).
const MaxBytes = 8 << 20

// File is a writer of whole lines. Each Write is one line; it never fails.
type File struct {
	folder, path, older string
	max                 int64

	mu     sync.Mutex
	file   *os.File // nil while it cannot be opened
	size   int64
	lost   int // lines since the last one that was written
	closed bool
}

// Open is the log at path in folder, which is made when the first line comes. At max bytes the file
// becomes older, in place of the one before.
func Open(folder, path, older string, max int64) *File {
	return &File{folder: folder, path: path, older: older, max: max}
}

// Write takes one line.
func (f *File) Write(line []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return len(line), nil
	}
	if f.lost > 0 && f.put(lostLine(f.lost)) == nil {
		f.lost = 0
	}
	if f.lost > 0 || f.put(line) != nil {
		f.lost++
	}
	return len(line), nil
}

// Close ends it; what is written later goes nowhere.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	return f.drop()
}

func lostLine(n int) []byte {
	return fmt.Appendf(nil, `{"time":%q,"level":"WARN","msg":"the log could not be written for a while","lines":%d}`+"\n",
		time.Now().Format(time.RFC3339Nano), n)
}

var errTooLong = errors.New("the line is longer than the file may be")

// put writes one line as a whole or not at all.
func (f *File) put(line []byte) error {
	if int64(len(line)) > f.max {
		return errTooLong
	}
	if err := f.ready(int64(len(line))); err != nil {
		return err
	}
	n, err := f.file.Write(line)
	if err == nil {
		f.size += int64(n)
		return nil
	}
	// Half a line would spoil the next one too.
	return errors.Join(err, f.file.Truncate(f.size), f.drop())
}

// ready makes sure that the file at our path is open and has room for n more bytes.
func (f *File) ready(n int64) error {
	if f.file != nil && !f.inPlace() {
		if err := f.drop(); err != nil {
			return err
		}
	}
	if f.file == nil {
		if err := f.open(); err != nil {
			return err
		}
	}
	if f.size+n <= f.max {
		return nil
	}
	if err := errors.Join(f.drop(), os.Rename(f.path, f.older)); err != nil {
		return err
	}
	return f.open()
}

// inPlace reports whether the open file is still the one that a reader finds by its name.
func (f *File) inPlace() bool {
	ours, err := f.file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(f.path)
	return err == nil && os.SameFile(ours, named)
}

// open follows no link and waits for no reader of a pipe: whatever stands in the place of our file must
// neither be written to nor hold us up.
func (f *File) open() error {
	if err := os.Mkdir(f.folder, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err == nil && info.Mode().Perm() != 0o600 {
		err = file.Chmod(0o600)
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	f.file, f.size = file, info.Size()
	return nil
}

func (f *File) drop() error {
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	f.file = nil
	return err
}

var _ io.WriteCloser = (*File)(nil)
