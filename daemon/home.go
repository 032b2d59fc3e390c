package daemon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"scv/daemon/process"
	"scv/internal/layout"
)

// Home is the folder that holds everything of one instance.
type Home struct {
	Path     string // absolute, without links
	Instance string // layout.Instance of Path
}

// OpenHome makes the folder (0700), then resolves it. A folder that others may enter is refused.
func OpenHome(path string) (Home, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return Home{}, fmt.Errorf("cannot make home %q: %w", path, err)
	}
	abs, err := filepath.Abs(path)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return Home{}, fmt.Errorf("cannot resolve home %q: %w", path, err)
	}
	info, err := os.Stat(abs)
	if err != nil {
		return Home{}, fmt.Errorf("cannot look at home %q: %w", abs, err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return Home{}, fmt.Errorf("cannot use home %q: others may enter it (mode %04o); %s", abs, info.Mode().Perm(), cure(abs))
	}
	return Home{Path: abs, Instance: layout.Instance(abs)}, nil
}

// cure advises on a folder that others may enter: one that is no home of ours must not be closed to
// them on our word.
func cure(path string) string {
	entries, err := os.ReadDir(path)
	ours := err == nil && len(entries) == 0
	for _, name := range []string{layout.Lock, layout.Store, "config.toml"} {
		if _, err := os.Lstat(filepath.Join(path, name)); err == nil {
			ours = true
		}
	}
	if ours {
		return "chmod 700 it"
	}
	return "it does not look like a home of scv: name a folder of its own with --home or SCV_HOME"
}

// join is a file of the home.
func (h Home) join(name string) string { return filepath.Join(h.Path, name) }

// lock is the right to the home. The inode is never renamed or removed, so that two holders can never
// hold two files.
type lock struct{ file *os.File }

// ErrRunning says that another daemon holds the home.
var ErrRunning = errors.New("another scv is running")

// leftBehind is how long a lock whose daemon is gone may be held: a child that is being started is a copy
// of the daemon, with its lock, until it runs its own program, also if the daemon is killed meanwhile.
const leftBehind = 5 * time.Second

// take gets the lock, or says who has it: at once if that is a daemon that lives.
func (h Home) take(pid int) (*lock, error) {
	path := h.join(layout.Lock)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open lock %q: %w", path, err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	for deadline := time.Now().Add(leftBehind); errors.Is(err, unix.EWOULDBLOCK) && gone(holder(f)) && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		defer f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("cannot start in %q: %w there with pid %s", h.Path, ErrRunning, holder(f))
		}
		return nil, fmt.Errorf("cannot lock %q: %w", path, err)
	}
	if err := writePID(f, pid); err != nil {
		f.Close()
		return nil, fmt.Errorf("cannot write lock %q: %w", path, err)
	}
	return &lock{file: f}, nil
}

// writePID puts one fixed-size line into the lock, so that no reader sees half of it.
func writePID(f *os.File, pid int) error {
	if _, err := f.WriteAt([]byte(fmt.Sprintf("%-20d\n", pid)), 0); err != nil {
		return err
	}
	return f.Truncate(21)
}

func holder(f *os.File) string {
	b := make([]byte, 21)
	n, _ := f.ReadAt(b, 0)
	pid := strings.TrimSpace(string(b[:n]))
	if _, err := strconv.Atoi(pid); err != nil {
		return "unknown"
	}
	return pid
}

// gone reports whether no process has this pid, or one that has ended.
func gone(pid string) bool {
	n, err := strconv.Atoi(pid)
	if err != nil {
		return false // it is being written
	}
	id, err := process.Lookup(n)
	return errors.Is(err, os.ErrProcessDone) || err == nil && !id.Alive()
}

// stands reports whether what stands in the home is the lock we hold. If somebody removed or replaced
// it, the home may be another daemon's by now, and with it the socket.
func (l *lock) stands() error {
	held, err := l.file.Stat()
	if err != nil {
		return fmt.Errorf("cannot look at the lock we hold: %w", err)
	}
	there, err := os.Stat(l.file.Name())
	if err != nil {
		return fmt.Errorf("cannot tell whose home it is: %w", err)
	}
	if !os.SameFile(held, there) {
		return fmt.Errorf("the home may be another daemon's: %q is not the lock that we hold", l.file.Name())
	}
	return nil
}

// release gives the right back. The file stays.
func (l *lock) release() { l.file.Close() }
