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

// On a screen a row is one line: what does not fit of its last cell is left out, and that is shown.
func TestTableFitsTheScreen(t *testing.T) {
	for _, most := range []int{0, 40} {
		tab := table{most: most}
		tab.head("ID", "QUESTION")
		tab.row(cell{"0123456789ab", plain}, cell{strings.Repeat("部署", 1500), plain})
		tab.row(cell{"1", plain}, cell{"short", plain})
		var out strings.Builder
		tab.write(&out, false)
		lines := strings.Split(out.String(), "\n")
		width := runewidth.StringWidth(lines[1])
		if cut := strings.HasSuffix(lines[1], "…"); cut != (most > 0) || most > 0 && (width > most || width < most-1) {
			t.Errorf("a screen of %d columns: %d, cut %v", most, width, cut)
		}
		if !strings.HasSuffix(lines[2], "  short") {
			t.Errorf("%q", lines[2])
		}
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
