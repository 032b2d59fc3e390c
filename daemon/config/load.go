package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Load reads config.toml of a home. Without the file it is Default. An error is one sentence naming the
// file and, where it can, the line and the key.
func Load(home string) (Config, error) {
	path := filepath.Join(home, Name)
	data, err := read(path)
	if errors.Is(err, errMissing) {
		return Default(), nil
	}
	if err == nil {
		var c Config
		if c, err = parse(data); err == nil {
			return c, nil
		}
	}
	return Config{}, fmt.Errorf("cannot use %s: %w", path, err)
}

var errMissing = errors.New("there is no such file")

// read reads the file only if nobody else could have written it: it names programs that we run.
func read(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // a pipe in its place must not hang the start
	if errors.Is(err, fs.ErrNotExist) {
		if _, lerr := os.Lstat(path); lerr == nil {
			return nil, errors.New("it is a link to a file that does not exist")
		}
		return nil, errMissing
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Mode().Perm()&0o022 != 0:
		return nil, fmt.Errorf("others may write it: run chmod go-w %s", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("it is larger than %d bytes", MaxBytes)
	}
	return data, nil
}

// CheckFolder reports why a workspace cannot be used. Load does not ask it: a folder may be missing for a
// while (an unmounted disk), and that must stop the accounts that use it, not the daemon.
func CheckFolder(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("the workspace %q is not an absolute path", path)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, lerr := os.Lstat(path); lerr == nil {
			return fmt.Errorf("the workspace %q is a link to a folder that does not exist", path)
		}
		return fmt.Errorf("the workspace %q does not exist", path)
	case errors.Is(err, unix.ENOTDIR):
		return fmt.Errorf("the workspace %q cannot exist: something above it is a file", path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("the workspace %q cannot be reached: a folder above it may not be entered", path)
	case err != nil:
		return fmt.Errorf("cannot look at the workspace %q: %w", path, err)
	case !info.IsDir():
		return fmt.Errorf("the workspace %q is a file, not a folder", path)
	case unix.Access(path, unix.R_OK|unix.X_OK) != nil:
		return fmt.Errorf("the workspace %q may not be read and entered by user %d", path, os.Getuid())
	}
	return nil
}
