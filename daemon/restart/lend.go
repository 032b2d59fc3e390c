package restart

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A guard that a service manager starts has the manager's environment, and may have to serve with that of the
// daemon. It gets it through a pipe with a name: in a file, or in the words of a unit, the keys of agents would
// be for others to read.

// fileLent is the pipe.
const fileLent = "environ"

// lendLimit is how long either side waits for the other.
const lendLimit = 5 * time.Second

// lentEnd ends what is lent, so that half of it is known as such.
const lentEnd = "\x00\x00"

// ofTheUnit are variables that belong to the unit of a process and not to what runs in it.
var ofTheUnit = []string{"INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID", "MANAGERPID", "MEMORY_PRESSURE_WATCH", "MEMORY_PRESSURE_WRITE"}

// lend offers the environment to the program that start starts. The offer stands until over is called.
func (f Folder) lend(environ []string, start func() error) (over func(), err error) {
	path := f.join(fileLent)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := unix.Mkfifo(path, 0o600); err != nil {
		return nil, fmt.Errorf("cannot make %q: %w", path, err)
	}
	pipe, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK, 0) // both ends: what is in it stays until over
	over = func() {
		_ = os.Remove(path)
		if pipe != nil {
			pipe.Close()
		}
	}
	if err == nil {
		err = start()
	}
	if err == nil {
		_ = pipe.SetWriteDeadline(time.Now().Add(lendLimit)) // it may be more than a pipe holds
		if _, err = io.WriteString(pipe, strings.Join(environ, "\x00")+lentEnd); err != nil {
			err = fmt.Errorf("cannot hand over the environment: %w", err)
		}
	}
	if err != nil {
		over()
		return nil, err
	}
	return over, nil
}

// borrow is the environment that was lent, or own where none was.
func (f Folder) borrow(own []string) []string {
	info, err := os.Lstat(f.join(fileLent))
	if err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		return own
	}
	pipe, err := os.OpenFile(f.join(fileLent), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return own
	}
	defer pipe.Close()
	_ = pipe.SetReadDeadline(time.Now().Add(lendLimit))
	var got []byte
	for chunk := make([]byte, 4<<10); !bytes.HasSuffix(got, []byte(lentEnd)); {
		n, err := pipe.Read(chunk)
		got = append(got, chunk[:n]...)
		if err != nil {
			return own
		}
	}
	lent := strings.Split(strings.TrimSuffix(string(got), lentEnd), "\x00")
	return mixed(lent, own)
}

// mixed is what was lent, with our own variables where they say which unit this is.
func mixed(lent, own []string) []string {
	ours := func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(ofTheUnit, name)
	}
	all := slices.DeleteFunc(slices.Clone(lent), ours)
	for _, v := range own {
		if ours(v) {
			all = append(all, v)
		}
	}
	return all
}
