package main

import (
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
	files := layout.LogFiles(t.TempDir())
	if err := os.Mkdir(filepath.Dir(files[0]), 0o700); err != nil {
		t.Fatal(err)
	}
	written := 0
	write := func(end string) {
		file, err := os.OpenFile(files[1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := fmt.Fprintf(file, "line %d%s", written, end); err != nil {
			t.Fatal(err)
		}
		written++
	}
	rotate := func() {
		if err := os.Rename(files[1], files[0]); err != nil {
			t.Fatal(err)
		}
	}
	write("\n")
	rotate()
	write("\n")
	tail := &logTail{path: files[1], older: files[0]}
	defer tail.close()
	got, err := tail.begin()
	if err != nil {
		t.Fatal(err)
	}
	next := func() {
		more, err := tail.next()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, more...)
	}
	for range 3 {
		write("\n")
		next()
		next()
		write("\n")
		rotate() // what came just before is still told
		next()   // and there is no new file yet
		write("\n")
		next()
	}
	write("\n") // and it is put aside twice before anybody looks, as while a reader stops in a pager
	rotate()
	write("\n")
	rotate()
	write("\n")
	next()
	next()
	if err := os.Remove(files[1]); err != nil { // what was told is not told again because of that
		t.Fatal(err)
	}
	next()
	write("\n")
	next()
	write("") // half a line is no line
	next()
	for i, text := range got {
		if text != fmt.Sprint("line ", i) {
			t.Errorf("line %d is %q", i, text)
		}
	}
	if len(got) != written-1 {
		t.Errorf("%d of %d lines were told", len(got), written-1)
	}
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
