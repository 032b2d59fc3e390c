package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"scv/internal/layout"
)

// logPause is how often a followed log is looked at.
const logPause = 200 * time.Millisecond

type logsCmd struct {
	Follow bool `short:"f" help:"Go on with what comes, until Ctrl-C."`
	Lines  uint `short:"n" default:"100" placeholder:"N" help:"How many of the newest lines (default ${default}); 0 is all."`
	JSON   bool `help:"Print the lines as they are kept, one JSON object each."`
}

func (*logsCmd) Help() string {
	return "It reads the files that the daemon keeps in the folder log of its home, at most twice 8 MiB, and asks no daemon."
}

func (c *logsCmd) Run(a *app) error {
	dir, err := a.home()
	if err != nil {
		return err
	}
	files := layout.LogFiles(dir)
	tail := &logTail{path: files[1]}
	defer tail.close()
	lines, err := tail.begin(files[0])
	if err != nil {
		return fmt.Errorf("cannot read the log: %w", err)
	}
	if tail.file == nil && len(lines) == 0 && !c.Follow {
		return failf(exitFailed, "a daemon makes one with its first line: "+a.command("run"), "there is no log in %s", dir)
	}
	if n := len(lines) - int(min(c.Lines, 1<<30)); c.Lines > 0 && n > 0 {
		lines = lines[n:]
	}
	for {
		if err := c.print(a, lines); err != nil || !c.Follow || !pause(a.ctx, logPause) {
			return err
		}
		if lines, err = tail.next(); err != nil {
			return fmt.Errorf("cannot read the log: %w", err)
		}
	}
}

func (c *logsCmd) print(a *app, lines []string) error {
	for _, text := range lines {
		if !c.JSON {
			text = logLine(text, a.colour)
		}
		if _, err := fmt.Fprintln(a.stdout, text); err != nil {
			return err
		}
	}
	return nil
}

// logTail reads the whole lines of a log that is still written to and may be put aside at any time.
type logTail struct {
	path string
	file *os.File // nil: there is none yet
	half string   // a line whose end has not come yet
}

// begin reads all there is, beginning with the older file.
func (t *logTail) begin(older string) ([]string, error) {
	// The newer one is opened first: if it is put aside meanwhile, what we find as older is the same file.
	if err := t.open(); err != nil {
		return nil, err
	}
	before, err := os.ReadFile(older)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if t.file != nil && sameFile(t.file, older) {
		before = nil
	}
	after, err := t.next()
	return append(splitLines(string(before)), after...), err
}

// next reads what came since.
func (t *logTail) next() ([]string, error) {
	moved := t.file == nil || !sameFile(t.file, t.path) // then nothing more comes into the open one
	text, err := t.read()
	if err == nil && moved {
		t.close()
		var more string
		if err = t.open(); err == nil {
			more, err = t.read()
		}
		text += more
	}
	text = t.half + text
	end := strings.LastIndexByte(text, '\n') + 1
	t.half = text[end:]
	return splitLines(text[:end]), err
}

func (t *logTail) open() error {
	file, err := os.Open(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		t.file = file
	}
	return err
}

func (t *logTail) read() (string, error) {
	if t.file == nil {
		return "", nil
	}
	b, err := io.ReadAll(t.file)
	return string(b), err
}

func (t *logTail) close() {
	if t.file != nil {
		t.file.Close() // it was only read
		t.file = nil
	}
}

func sameFile(open *os.File, path string) bool {
	ours, err := open.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(ours, named)
}

func splitLines(text string) []string {
	text = strings.TrimSuffix(text, "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
