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
	tail := &logTail{path: files[1], older: files[0]}
	defer tail.close()
	lines, err := tail.begin()
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
	path  string
	older string      // where it is put aside
	told  fs.FileInfo // of what was put aside and is told already, nil: none
	file  *os.File    // nil: there is none yet
	half  string      // a line whose end has not come yet
}

// begin reads all there is, beginning with the older file.
func (t *logTail) begin() ([]string, error) {
	// The newer one is opened first: if it is put aside meanwhile, what we find as older is the same file.
	if err := t.open(); err != nil {
		return nil, err
	}
	before, err := t.readOlder()
	if err != nil {
		return nil, err
	}
	after, err := t.next()
	return append(splitLines(before), after...), err
}

// readOlder reads what was put aside, unless that is told, or the open file.
func (t *logTail) readOlder() (string, error) {
	file, err := os.Open(t.older)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer file.Close() // it is only read
	info, err := file.Stat()
	if err != nil || t.wasTold(info) || t.file != nil && sameFile(t.file, t.older) {
		return "", err
	}
	t.told = info
	text, err := io.ReadAll(file)
	return string(text), err
}

// wasTold knows a file by its time too: a new one may get the number of one that is gone.
func (t *logTail) wasTold(info fs.FileInfo) bool {
	return t.told != nil && os.SameFile(info, t.told) && info.ModTime().Equal(t.told.ModTime())
}

// next reads what came since. Of a log that was put aside more than twice meanwhile the files between are gone.
func (t *logTail) next() ([]string, error) {
	moved := t.file == nil || !sameFile(t.file, t.path) // then nothing more comes into the open one
	text, err := t.read()
	if err == nil && moved {
		if t.file != nil && sameFile(t.file, t.older) { // else it was removed, or put aside longer ago
			t.told, err = t.file.Stat()
		}
		t.close()
		var between, more string
		if err == nil {
			err = t.open()
		}
		if err == nil {
			between, err = t.readOlder()
		}
		if err == nil {
			more, err = t.read()
		}
		text += between + more
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
