package main

import (
	"strings"
	"testing"

	"github.com/mattn/go-runewidth"
)

func TestTableAlignsWideNames(t *testing.T) {
	var tab table
	tab.head("NAME", "STATE")
	tab.row(cell{"飞书账号", plain}, cell{"up", good})
	tab.row(cell{"x", plain}, cell{"down\x1b[2J\n", bad})
	var out strings.Builder
	tab.write(&out, false)
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 3 {
		t.Fatalf("a cell broke its row: %q", out.String())
	}
	for i, word := range []string{"STATE", "up", "down"} {
		at := strings.Index(lines[i], word)
		if width := runewidth.StringWidth(lines[i][:at]); width != 10 {
			t.Errorf("%q begins at column %d, want 10", word, width)
		}
	}
	if strings.ContainsRune(out.String(), '\x1b') {
		t.Errorf("an escape character reached the terminal: %q", out.String())
	}
}

// no-color.org: any value but the empty one.
func TestNoColour(t *testing.T) {
	for value, want := range map[string]bool{"": true, "1": false, "0": false, "no": false} {
		if got := coloured(func(name string) string { return map[string]string{"NO_COLOR": value, "TERM": "xterm"}[name] }); got != want {
			t.Errorf("NO_COLOR=%q: coloured %v", value, got)
		}
	}
	if coloured(func(name string) string { return map[string]string{"TERM": "dumb"}[name] }) {
		t.Error("a dumb terminal is coloured")
	}
}

func TestTableColours(t *testing.T) {
	var tab table
	tab.row(cell{"ok", good}, cell{"", bad}, cell{"end", plain})
	var out strings.Builder
	tab.write(&out, true)
	if want := "\x1b[32mok\x1b[0m    end\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
