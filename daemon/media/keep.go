package media

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"scv/daemon/channel"
	"scv/internal/failpoint"
)

// beside begins the names of files that are not whole yet. No whole one begins with a dot.
const beside = ".part-"

// Keep fetches a file of a message into the chat's folder, if it is not there already: a turn that was not begun
// in the end comes again. name is one of Names. What fill writes beyond limit is refused, as ErrTooLarge.
func (f Folders) Keep(c Chat, message, name string, limit int64, fill func(w io.Writer) error) (path string, err error) {
	folder := filepath.Join(f.Received(c), hashed(message))
	if path = fetched(folder, name); path != "" {
		return path, nil
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("cannot make the folder %q: %w", folder, err)
	}
	return place(filepath.Join(folder, beside+name), folder, name, limit, fill)
}

// fetched finds a file that is there, under the name that it got by its content.
func fetched(folder, name string) string {
	candidates := []string{name}
	if filepath.Ext(name) == "" {
		for _, ext := range extensions {
			candidates = append(candidates, name+ext)
		}
	}
	for _, candidate := range candidates {
		path := filepath.Join(folder, candidate)
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

func place(temp, folder, name string, limit int64, fill func(w io.Writer) error) (path string, err error) {
	if err := os.Remove(temp); err != nil && !os.IsNotExist(err) { // of a try that was killed
		return "", err
	}
	file, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temp)
		}
	}()
	to := &capped{file: file, room: limit}
	err = fill(to)
	if to.over { // whatever the platform's side made of that
		err = channel.ErrTooLarge
	}
	if err == nil && filepath.Ext(name) == "" {
		name += extension(file)
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return "", err
	}
	if err = failpoint.Hit(failpoint.MediaKeep); err != nil {
		return "", err
	}
	path = filepath.Join(folder, name)
	return path, os.Rename(temp, path)
}

// extension is what a file's name should end with, by its content: agents look at pictures by their name.
func extension(file *os.File) string {
	head := make([]byte, headBytes)
	n, err := file.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return ""
	}
	return extensions[http.DetectContentType(head[:n])]
}

// capped is a file that takes no more than it has room for.
type capped struct {
	file *os.File
	room int64
	over bool
}

func (c *capped) Write(b []byte) (int, error) {
	if int64(len(b)) > c.room {
		c.over = true
		return 0, channel.ErrTooLarge
	}
	n, err := c.file.Write(b)
	c.room -= int64(n)
	return n, err
}
