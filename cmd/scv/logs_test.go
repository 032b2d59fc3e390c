package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"scv/internal/layout"
)

func TestLogLine(t *testing.T) {
	for text, want := range map[string]string{
		`{"time":"nonsense","level":"WARN","msg":"a word","n":1,"err":"cannot do","empty":""}`: `nonsense WARN  a word n=1 err="cannot do" empty=""`,
		"{\"level\":\"INFO\",\"msg\":\"\\u001b[2J\u202ex\",\"g\":{\"a\":[1]}}":                 ` INFO  \x1b[2J\u202ex g={"a":[1]}`,
		"no JSON \x1b[2J":        `no JSON \x1b[2J`,
		`{"msg":"cut off`:        `{"msg":"cut off`,
		`["time"]`:               `["time"]`,
		`{"msg":"a","msg":"b"}`:  `       b`,
		"{\"msg\":\"\xff\"}\x1b": `{"msg":"\xff"}\x1b`,
	} {
		if got := logLine(text, false); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

// No line is lost or told twice while the log is written to and put aside, also twice between two looks.
func TestLogTailOverRotations(t *testing.T) {
	l := newRotated(t)
	l.write("\n")
	l.rotate()
	l.write("\n")
	l.begin()
	for range 3 {
		l.write("\n")
		l.next()
		l.next()
		l.write("\n")
		l.rotate() // what came just before is still told
		l.next()   // and there is no new file yet
		l.write("\n")
		l.next()
	}
	l.write("\n") // and it is put aside twice before anybody looks, as while a reader stops in a pager
	l.rotate()
	l.write("\n")
	l.rotate()
	l.write("\n")
	l.next()
	l.next()
	l.no(os.Remove(l.files[1])) // what was told is not told again because of that
	l.next()
	l.write("\n")
	l.next()
	l.write("") // half a line is no line
	l.next()
	for i, text := range l.got {
		if text != fmt.Sprint("line ", i) {
			t.Errorf("line %d is %q", i, text)
		}
	}
	if len(l.got) != l.written-1 {
		t.Errorf("%d of %d lines were told", len(l.got), l.written-1)
	}
}

// rotated is a log that is written to, put aside and followed.
type rotated struct {
	t       *testing.T
	files   [2]string // the older one first
	written int
	tail    *logTail
	got     []string // lines that were told
}

func newRotated(t *testing.T) *rotated {
	files := layout.LogFiles(t.TempDir())
	if err := os.Mkdir(filepath.Dir(files[0]), 0o700); err != nil {
		t.Fatal(err)
	}
	l := &rotated{t: t, files: [2]string{files[0], files[1]}, tail: &logTail{path: files[1], older: files[0]}}
	t.Cleanup(l.tail.close)
	return l
}

func (l *rotated) write(end string) {
	l.t.Helper()
	file, err := os.OpenFile(l.files[1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	l.no(err)
	_, err = fmt.Fprintf(file, "line %d%s", l.written, end)
	l.no(errors.Join(err, file.Close()))
	l.written++
}

func (l *rotated) rotate() {
	l.t.Helper()
	l.no(os.Rename(l.files[1], l.files[0]))
}

// no ends the test at an error.
func (l *rotated) no(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

func (l *rotated) begin() { l.take(l.tail.begin()) }
func (l *rotated) next()  { l.take(l.tail.next()) }

func (l *rotated) take(lines []string, err error) {
	l.t.Helper()
	l.no(err)
	l.got = append(l.got, lines...)
}

// A watched status on a terminal is drawn over itself, and only when it looks different.
func TestDisplayDraws(t *testing.T) {
	var out strings.Builder
	d := display{a: &app{stdout: &out}}
	for _, text := range []string{"a\nb\n", "a\nb\n", "c\n"} {
		if err := d.draw(text); err != nil {
			t.Fatal(err)
		}
	}
	if want := "\x1b[2J\x1b[Ha\x1b[K\nb\x1b[K\n\x1b[J" + "\x1b[Hc\x1b[K\n\x1b[J"; out.String() != want {
		t.Errorf("drawn %q, want %q", out.String(), want)
	}
}
