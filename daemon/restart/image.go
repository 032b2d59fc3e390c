package restart

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"scv/internal/durable"
	"scv/internal/failpoint"
)

// running is the program of this process, also when its file was replaced since.
func running() string {
	const link = "/proc/self/exe"
	if _, err := os.Stat(link); err == nil {
		return link
	}
	path, err := os.Executable() // no Linux
	if err != nil {
		return link
	}
	return path
}

// OwnPath is the path by which this process was started, absolute and with its links, since that is where
// the next release will be installed. name is its first argument, path the value of PATH.
func OwnPath(name string, path string) (string, error) {
	found := name
	if !strings.Contains(name, "/") {
		found = lookIn(path, name)
	}
	abs, err := filepath.Abs(found)
	if err == nil && found != "" && sameFile(abs, running()) {
		return abs, nil
	}
	real, err := os.Executable() // whoever started us gave us another name
	if err != nil {
		return "", fmt.Errorf("cannot find the program itself: %w", err)
	}
	return strings.TrimSuffix(real, " (deleted)"), nil
}

// lookIn finds a program as a shell does.
func lookIn(path, name string) string {
	for _, dir := range filepath.SplitList(path) {
		candidate := filepath.Join(dir, name)
		if found, err := exec.LookPath(candidate); err == nil && filepath.IsAbs(found) {
			return found
		}
	}
	return ""
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// errNoFile says that what has a name cannot be a program.
var errNoFile = errors.New("it is no regular file")

// openFile opens a regular file. Other things may be where a program was: a pipe waits for somebody who writes to
// it, and a device never ends, so neither is read.
func openFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: path, Err: errNoFile}
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// HashOf is the SHA-256 of a file, in hex.
func HashOf(path string) (string, error) {
	f, err := openFile(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// CopyProgram makes a private copy of a program, which may be replaced meanwhile, and returns its hash.
func CopyProgram(from, to string) (sum string, err error) {
	file, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700)
	if err != nil {
		return "", err
	}
	err = copyInto(file, from)
	if err = errors.Join(err, file.Close()); err != nil {
		return "", err
	}
	return HashOf(to)
}

// mark is how a file looks from outside: whoever changes or replaces it changes that. It spares a hash
// while nobody is served.
func mark(path string) string {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return ""
	}
	return fmt.Sprintf("%d:%d:%d:%d.%d:%d.%d", st.Dev, st.Ino, st.Size,
		st.Mtim.Sec, st.Mtim.Nsec, st.Ctim.Sec, st.Ctim.Nsec)
}

// putBack installs the old release again, only while what is installed is the new one: whatever else a
// person has put there since is theirs. False: the new one is still installed.
func (f Folder) putBack(h Handover) (done bool, err error) {
	installed, err := HashOf(h.Binary)
	if err == nil && installed != h.New.SHA256 || errors.Is(err, errNoFile) || h.Old.SHA256 == h.New.SHA256 {
		return true, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("cannot look at %q: %w", h.Binary, err)
	}
	if err := f.reinstall(h); err != nil {
		return false, fmt.Errorf("cannot put the old release back to %q: %w", h.Binary, err)
	}
	return true, nil
}

func (f Folder) reinstall(h Handover) error {
	at := h.Binary
	link, err := os.Readlink(at)
	if err == nil && h.Link != "" && link != h.Link && f.leadsToOld(h) {
		return placeLink(h.Link, at)
	}
	if real, err := filepath.EvalSymlinks(at); err == nil {
		at = real
	}
	return durable.Place(at, failpoint.RestartBinaryBack, 0o755, func(to *os.File) error { return copyInto(to, f.join(fileOld)) })
}

// leadsToOld reports whether the link, as it was, leads to the old release still.
func (f Folder) leadsToOld(h Handover) bool {
	to := h.Link
	if !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(h.Binary), to)
	}
	sum, err := HashOf(to)
	return err == nil && sum == h.Old.SHA256
}

// placeLink turns a link in one step.
func placeLink(to, at string) error {
	temp := filepath.Join(filepath.Dir(at), fmt.Sprintf(".scv-link-%d", os.Getpid()))
	if err := os.Symlink(to, temp); err != nil {
		return err
	}
	if err := failpoint.Hit(failpoint.RestartBinaryBack); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	if err := os.Rename(temp, at); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return durable.SyncDir(filepath.Dir(at))
}

// keepStore copies the store aside before the new release changes its schema, once.
func (f Folder) keepStore(h Handover) error {
	if !h.Moves() {
		return nil
	}
	if _, err := os.Stat(f.join(fileSnap)); err == nil {
		return nil
	}
	if _, err := os.Stat(f.store()); errors.Is(err, fs.ErrNotExist) {
		return nil // nothing to lose
	}
	err := f.place(fileSnap, failpoint.RestartSnap, 0o600, func(to *os.File) error { return copyInto(to, f.store()) })
	if err != nil {
		return fmt.Errorf("cannot keep the store before its schema changes: %w", err)
	}
	return nil
}

// storeBack puts the store of the old release back. The caller holds the lock. The rename consumes the copy,
// so that no repeat can undo what was acknowledged later.
func (f Folder) storeBack() error {
	if err := failpoint.Hit(failpoint.RestartStoreBack); err != nil {
		return err
	}
	err := os.Rename(f.join(fileSnap), f.store())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = errors.Join(durable.SyncDir(f.home), durable.SyncDir(f.path))
	}
	if err != nil {
		return fmt.Errorf("cannot put the store back: %w", err)
	}
	return nil
}

// restore makes a rollback true. The caller holds the lock. An old release that cannot be installed again is
// no reason to leave the store as it is: it runs from its copy then.
func (f Folder) restore(h Handover) (installed bool, err error) {
	installed, notInstalled := f.putBack(h)
	if err := f.storeBack(); err != nil {
		return installed, errors.Join(err, notInstalled)
	}
	return installed, notInstalled
}
