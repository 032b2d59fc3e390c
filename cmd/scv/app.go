package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/term"

	"scv/wire"
)

// app is the outside world of a verb, as values.
type app struct {
	ctx            context.Context // ends when a signal asks for it
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	now            func() time.Time
	homeFlag       string // --home as given
	typed          bool   // a person types stdin
	watched        bool   // a person watches stderr
	colour         bool   // stdout shows colour
	screen         bool   // stdout is a screen that can be drawn over
	pace           pace
}

// pace is how often a waiting verb asks the daemon.
type pace struct{ keepAlive, catchUp, watch, progress time.Duration }

// home is the folder of this SCV as a canonical path; it need not exist.
func (a *app) home() (string, error) {
	dir := cmp.Or(a.homeFlag, a.getenv("SCV_HOME"))
	if dir == "" {
		user := a.getenv("HOME")
		if user == "" {
			return "", failf(exitFailed, "set SCV_HOME or give --home DIR", "cannot find your home folder: HOME is not set")
		}
		dir = filepath.Join(user, ".scv")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("cannot make %q absolute: %w", dir, err)
	}
	real, err := filepath.EvalSymlinks(dir)
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		return "", failf(exitFailed, notFolderHint, "%q cannot be a home: something above it is a file", dir)
	case err != nil: // it need not exist
		return dir, nil
	}
	if info, err := os.Stat(real); err == nil && !info.IsDir() {
		return "", failf(exitFailed, notFolderHint, "%q cannot be a home: it is not a folder", dir)
	}
	return real, nil
}

const notFolderHint = "name a folder with --home DIR or SCV_HOME"

// command is how a person would type an scv command for this same home.
func (a *app) command(words string) string {
	if a.homeFlag == "" {
		return "scv " + words
	}
	return "scv --home " + shellWord(a.homeFlag) + " " + words
}

// printJSON prints v as the daemon would send it, on one line.
func (a *app) printJSON(v any) error {
	b, err := wire.Encode(v)
	if err != nil {
		return fmt.Errorf("cannot print the answer as JSON: %w", err)
	}
	_, err = fmt.Fprintf(a.stdout, "%s\n", b)
	return err
}

// say prints one line of the program's own words; arguments that came from elsewhere are escaped by line.
func (a *app) say(format string, args ...any) { fmt.Fprintf(a.stdout, format+"\n", args...) }

// note tells stderr how things go.
func (a *app) note(format string, args ...any) { fmt.Fprintf(a.stderr, format+"\n", args...) }

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// coloured follows no-color.org.
func coloured(getenv func(string) string) bool {
	return getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
}

// stickyWriter remembers the first error, so that output that went nowhere is never a success.
type stickyWriter struct {
	w   io.Writer
	err error
}

func (s *stickyWriter) Write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.w.Write(p)
	s.err = err
	return n, err
}
