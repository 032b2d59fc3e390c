// Package credential keeps what accounts sign in with: one file for each in <home>/credentials, in a folder
// for each channel. They are not in the store, where a deleted value can still be read in free pages; a file
// that is removed is gone. What is in one, only its channel knows.
//
// The daemon reads and removes them; the hand writes them, also while no daemon runs. A change of a file is
// one rename, so a reader sees the old one or the new one.
package credential

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"scv/internal/durable"
	"scv/internal/failpoint"
	"scv/internal/layout"
)

// maxFile is the largest file read, in bytes.
const maxFile = 64 << 10

const suffix = ".json"

// Folder is where a home keeps them.
type Folder struct{ path string }

// In is the folder of a home. It need not exist.
func In(home string) Folder { return Folder{filepath.Join(home, layout.Credentials)} }

// file is an account's. Names that could lead elsewhere have none.
func (f Folder) file(channel, account string) (string, error) {
	for _, name := range []string{channel, account} {
		if name == "" || strings.ContainsFunc(name, func(r rune) bool {
			return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '-' && r != '_'
		}) {
			return "", fmt.Errorf("cannot keep credentials of %q:%q: that is no account", channel, account)
		}
	}
	return filepath.Join(f.path, channel, account+suffix), nil
}

// Load reads an account's credentials. Without any it is an fs.ErrNotExist. A file that others could read or
// write is refused: who reads it is the account, and who writes it decides whose account it is.
func (f Folder) Load(channel, account string) ([]byte, error) {
	path, err := f.file(channel, account)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot read the credentials: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot read the credentials: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("cannot read the credentials: %s is no file", path)
	case info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("cannot use the credentials: others may read or change them: run chmod 600 %s", path)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("cannot use the credentials: %s is larger than %d bytes", path, maxFile)
	}
	content, err := io.ReadAll(io.LimitReader(file, maxFile))
	if err != nil {
		return nil, fmt.Errorf("cannot read the credentials: %w", err)
	}
	return content, nil
}

// Save puts an account's credentials in place, durably, or leaves those that were there.
func (f Folder) Save(channel, account string, content []byte) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("cannot save the credentials: %w", err)
		}
	}()
	path, err := f.file(channel, account)
	if err != nil {
		return err
	}
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	err = durable.Place(path, failpoint.CredentialSave, 0o600, func(file *os.File) error {
		_, err := file.Write(content)
		return err
	})
	if err != nil {
		return err
	}
	return f.sync(folder)
}

// sync makes names durable, up to the home.
func (f Folder) sync(folder string) (err error) {
	for _, dir := range []string{folder, f.path, filepath.Dir(f.path)} {
		err = errors.Join(err, durable.SyncDir(dir))
	}
	return err
}

// Delete removes an account's credentials for good. It is no error when there are none.
func (f Folder) Delete(channel, account string) error {
	path, err := f.file(channel, account)
	if err != nil {
		return err
	}
	err = os.Remove(path)
	if err == nil || errors.Is(err, fs.ErrNotExist) { // an earlier removal may not be durable yet
		err = durable.SyncDir(filepath.Dir(path))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot remove the credentials of %s:%s: %w", channel, account, err)
	}
	return nil
}

// Accounts are the names of a channel's accounts that have credentials, sorted. What is no credential's
// file is left alone.
func (f Folder) Accounts(channel string) (names []string, err error) {
	entries, err := os.ReadDir(filepath.Join(f.path, channel))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot list the credentials of %s: %w", channel, err)
	}
	for _, entry := range entries {
		name, ok := strings.CutSuffix(entry.Name(), suffix)
		if _, err := f.file(channel, name); ok && err == nil {
			names = append(names, name)
		}
	}
	return names, nil
}
