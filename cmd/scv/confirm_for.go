package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// bound is the content that an answer is about. The question names its hash, and a yes counts only
// while that is still the content. Its zero value is bound to nothing.
type bound struct {
	name string // as given
	kind string // "file" or "commit"
	hash string // hex: SHA-256 of the file, or git's own id of the commit
}

// errChanged is the end of a yes to what is no longer there.
var errChanged = errors.New("it changed before the answer, so the yes is none")

// bind finds out what --for means. A name that means both a file and a commit is refused: a script that
// runs in another folder must not ask about something else.
func (a *app) bind(given *string) (bound, error) {
	if given == nil {
		return bound{}, nil
	}
	name := *given
	if name == "" { // as from a variable that is not set
		return bound{}, failf(exitOther, `try: scv confirm --for ./deploy.sh "Deploy?", or --for HEAD`, "what the answer is for is empty")
	}
	_, err := os.Stat(name)
	isFile := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return bound{}, failf(exitOther, "", "cannot look at %q: %w", name, err)
	}
	commit := ""
	if !plainlyFile(name) {
		commit, err = a.gitCommit(name)
	}
	switch {
	case isFile && commit != "":
		return bound{}, failf(exitOther, "for the file write ./"+name+", for the commit "+name+"^0",
			"%q is a file here and also a git commit", name)
	case isFile:
		return a.bindFile(name)
	case commit != "":
		return bound{name: name, kind: "commit", hash: commit}, nil
	}
	return bound{}, failf(exitOther, `try: scv confirm --for ./deploy.sh "Deploy?", or --for HEAD`,
		"%q is no file here and no git commit (%w)", name, err)
}

// plainlyFile reports whether a name can only be a path.
func plainlyFile(name string) bool {
	for _, begin := range []string{"/", "./", "../"} {
		if strings.HasPrefix(name, begin) {
			return true
		}
	}
	return false
}

func (a *app) bindFile(name string) (bound, error) {
	sum, err := fileSum(a.ctx, name)
	if err != nil {
		return bound{}, failf(exitOther, "", "cannot bind the answer to %q: %w", name, err)
	}
	return bound{name: name, kind: "file", hash: sum}, nil
}

// words is what the question says of it, and the tail with which they must be shown.
func (b bound) words() (words, tail string) {
	switch b.kind {
	case "file":
		tail = ", sha256 " + b.hash + ")"
	case "commit":
		if b.name == b.hash { // as a git hook names it
			tail = " (for the commit " + b.hash + ")"
			return tail, tail
		}
		tail = ", " + b.hash + ")"
	default:
		return "", ""
	}
	return fmt.Sprintf(" (for the %s %s", b.kind, line(b.name)) + tail, tail
}

// still fails unless the content is what was asked about.
func (b bound) still(a *app) error {
	var now string
	var err error
	switch b.kind {
	case "file":
		now, err = fileSum(a.ctx, b.name)
	case "commit":
		now, err = a.gitCommit(b.name)
	}
	switch {
	case a.ctx.Err() != nil:
		return errInterrupted
	case err != nil:
		return failf(exitOther, "look at it and ask again", "cannot look at the %s %q again: %w; %w", b.kind, b.name, err, errChanged)
	case now != b.hash:
		return failf(exitOther, "look at it and ask again", "the %s %q is now %s, asked was about %s: %w", b.kind, b.name, now, b.hash, errChanged)
	}
	return nil
}

// fileSum reads a file of any size. It reads no pipe and no device, whose content is never the same twice.
func fileSum(ctx context.Context, name string) (string, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", errors.New("it is no regular file; for a folder, bind to a git commit or to a list of sums")
	}
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, untilDone{ctx, file}); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// untilDone reads until its context ends.
type untilDone struct {
	ctx context.Context
	r   io.Reader
}

func (u untilDone) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}
