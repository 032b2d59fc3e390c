package media

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"scv/daemon/channel"
	"scv/internal/durable"
	"scv/internal/failpoint"
)

// Bounds of what goes with one answer (docs/rules.md §10).
const (
	MaxOut      = 8
	MaxOutBytes = 25 << 20 // of each file
	maxNamed    = 20       // that are named as not sent
)

// Out is a file that goes with an answer: number n of Collect's list is copy number n.
type Out struct {
	Kind channel.FileKind
	Name string // as the receiver sees it
	Size int64
	from string // its name in the outbox
}

// Collect copies what stands in a chat's outbox and may be sent, and says of the rest why it is not. When it
// returns, the copies are durable. The outbox is left as it is until Sent: a crash before the answer is committed
// finds it so. most is the largest file of a kind that the platform takes.
func (f Folders) Collect(c Chat, answer string, most func(channel.FileKind) int64) (files []Out, dropped []string) {
	outbox := f.Outbox(c)
	entries, err := os.ReadDir(outbox)
	if err != nil || len(entries) == 0 {
		return nil, nil // no outbox: nothing to send
	}
	folder, err := f.afresh(c.Account, answer)
	if err != nil {
		return nil, []string{"all files: there is no room for copies"}
	}
	dir, err := unix.Open(outbox, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, []string{"all files: the folder is none of ours"}
	}
	defer func() { _ = unix.Close(dir) }()
	for _, entry := range entries {
		name := entry.Name()
		out, err := copyOut(dir, name, filepath.Join(folder, strconv.Itoa(len(files))), len(files), most)
		if err != nil {
			dropped = append(dropped, Shown(name)+": "+err.Error())
			continue
		}
		files = append(files, out)
	}
	if len(files) == 0 {
		_ = os.Remove(folder)
		return nil, few(dropped)
	}
	if err := settle(folder); err != nil {
		_ = f.Done(c.Account, answer) // or the next start does
		return nil, append(few(dropped), "all other files: their copies cannot be kept")
	}
	return files, few(dropped)
}

// few bounds a list of what was dropped.
func few(dropped []string) []string {
	if n := len(dropped) - maxNamed; n > 0 {
		dropped = append(dropped[:maxNamed:maxNamed], fmt.Sprintf("and %d more", n))
	}
	return dropped
}

// Shown is a name as a chat may show it.
func Shown(name string) string {
	if safe := SafeName(name); safe != "" {
		return safe
	}
	return "a file without a name"
}

// afresh makes the folder of an answer's copies, without those of a try before a crash.
func (f Folders) afresh(account, answer string) (string, error) {
	if !element(answer) {
		return "", fmt.Errorf("%q names no answer", answer)
	}
	folder := filepath.Join(f.of(sending, account), answer)
	if err := failpoint.Hit(failpoint.MediaRemove); err != nil {
		return "", err
	}
	if err := os.RemoveAll(folder); err != nil {
		return "", err
	}
	return folder, f.mkdir(folder)
}

// settle makes the copies' names durable. What they hold was synced one by one.
func settle(folder string) error {
	if err := failpoint.Hit(failpoint.MediaCopy); err != nil {
		return err
	}
	return durable.SyncDir(folder)
}

// Why a file is not sent, as its chat reads it.
var (
	errMany    = fmt.Errorf("more than %d files", MaxOut)
	errFolder  = errors.New("a folder")
	errNotFile = errors.New("no ordinary file")
	errLinked  = errors.New("it has another name somewhere else")
	errEmpty   = errors.New("empty")
	errCopy    = errors.New("it could not be read or copied")
)

// copyOut copies one entry of an outbox, if it is a file that may be sent. It follows no link and waits for
// nobody: what is no regular file is never opened, or only to be found out and closed.
func copyOut(dir int, name, to string, already int, most func(channel.FileKind) int64) (out Out, err error) {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return out, errCopy
	}
	if err := sendable(&st); err != nil {
		return out, err
	}
	if already >= MaxOut {
		return out, errMany
	}
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return out, errCopy
	}
	file := os.NewFile(uintptr(fd), name)
	defer func() { _ = file.Close() }()
	if err := unix.Fstat(fd, &st); err != nil {
		return out, errCopy
	}
	if err := sendable(&st); err != nil { // another one took its place
		return out, err
	}
	return copyFile(file, name, to, most)
}

func sendable(st *unix.Stat_t) error {
	switch uint32(st.Mode) & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		return errFolder
	default:
		return errNotFile
	}
	switch {
	case uint64(st.Nlink) > 1:
		return errLinked
	case st.Size == 0:
		return errEmpty
	case st.Size > MaxOutBytes:
		return tooLarge(MaxOutBytes)
	}
	return nil
}

func tooLarge(limit int64) error { return fmt.Errorf("larger than %d MiB", limit>>20) }

// copyFile copies what a file holds now, which its size before does not bound.
func copyFile(file *os.File, name, to string, most func(channel.FileKind) int64) (out Out, err error) {
	head := make([]byte, headBytes)
	n, err := file.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return out, errCopy
	}
	kind := kindOf(head[:n])
	limit := min(MaxOutBytes, most(kind))
	own, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return out, errCopy
	}
	size, err := io.Copy(own, io.LimitReader(file, limit+1))
	if err == nil && size <= limit {
		err = own.Sync()
	}
	err = errors.Join(err, own.Close())
	switch {
	case err != nil:
		err = errCopy
	case size == 0:
		err = errEmpty
	case size > limit:
		err = tooLarge(limit)
	default:
		return Out{Kind: kind, Name: Shown(name), Size: size, from: name}, nil
	}
	_ = os.Remove(to)
	return out, err
}

// Sent removes what was collected from a chat's outbox, once the answer is committed.
func (f Folders) Sent(c Chat, files []Out) error {
	var all []error
	for _, out := range slices.Backward(files) {
		if err := os.Remove(filepath.Join(f.Outbox(c), out.from)); err != nil && !os.IsNotExist(err) {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}
