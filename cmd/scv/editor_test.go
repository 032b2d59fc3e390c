package main

import (
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"scv/wire"
)

// typeInto feeds an editor and returns what it sent, its screen, and whether it was ended.
func typeInto(t *testing.T, width int, typed ...string) (lines []string, shown string, over bool) {
	t.Helper()
	screen := &strings.Builder{}
	e := newEditor(screen, func() int { return width })
	for _, part := range typed {
		got, ended := e.feed([]byte(part))
		lines, over = append(lines, got...), over || ended
	}
	return lines, screen.String(), over
}

// TestEditorKeys: what each key makes of a line. No key is ever part of it.
func TestEditorKeys(t *testing.T) {
	for typed, want := range map[string]string{
		"hello":                                "hello",
		"hllo\x1b[D\x1b[D\x1b[De":              "hello",
		"hllo\x1bOD\x1bOD\x1bODe":              "hello",
		"ello\x1b[Hh\x1b[F!":                   "hello!",
		"ello\x01h\x05!":                       "hello!",
		"hellox\x7f":                           "hello",
		"xhello\x01\x1b[3~":                    "hello",
		"xhello\x01\x04":                       "hello",
		"hello wrld\x17world":                  "hello world",
		"junk\x15hello":                        "hello",
		"hello junk\x02\x02\x02\x02\x02\x0b":   "hello",
		"he\x1b[1;5Cll\x1b[15~o\x1b\x1b":       "hello", // keys that mean nothing here
		"\x1b[5~\x1b[6~\x1b[2~hello\x07\x1a":   "hello",
		"\u4f60\u597d\u5417\x1b[D\x7f":         "\u4f60\u5417",
		"\x1b[200~one\r\ttwo\x03\x04\x1b[201~": "one\n\ttwo", // one message, and nothing in it is a command
		"\x1b[200~a\x1b[Ab\x1b[201~\x7fc":      "ac",
		"a\x1b[200~b\x1b[201~c":                "abc",
		"one\x1b[A\x1b[B":                      "one",
	} {
		lines, _, over := typeInto(t, 40, typed, "\n")
		if len(lines) != 1 || lines[0] != want || over {
			t.Errorf("%q makes %q, over %v; want %q", typed, lines, over, want)
		}
		var slowly []string // every key in pieces
		for i := range len(typed) {
			slowly = append(slowly, typed[i:i+1])
		}
		if lines, _, _ := typeInto(t, 40, append(slowly, "\n")...); len(lines) != 1 || lines[0] != want {
			t.Errorf("%q in pieces makes %q; want %q", typed, lines, want)
		}
	}
}

func TestEditorHistory(t *testing.T) {
	lines, _, _ := typeInto(t, 40, "one\ntwo\n\nthr\x1b[A\x1b[A\x1b[A!\n", "x\x1b[A\x1b[A\x1b[B\x1b[B\x1b[By\n")
	if got := strings.Join(lines, "|"); got != "one|two||one!|xy" {
		t.Errorf("got %q", got)
	}
}

func TestEditorEnd(t *testing.T) {
	for typed, want := range map[string]bool{"\x04": true, "hi\n\x04": true, "hi\x04": false, "hi\x15\x04": true, "\x1b[3~": false, "\x00": true} {
		if _, _, over := typeInto(t, 40, typed); over != want {
			t.Errorf("%q ends it: %v, want %v", typed, over, want)
		}
	}
}

var (
	moves = regexp.MustCompile(`\x1b\[[0-9]*C`)
	codes = regexp.MustCompile(`\x1b\[\??[0-9]*[A-Za-z]`)
)

// TestEditorStaysInItsRow: whatever is typed, what is drawn is narrower than the screen, the cursor in
// it, and nothing that was pasted is a command to the terminal.
func TestEditorStaysInItsRow(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", 500), strings.Repeat("\u597d", 500), "\x1b[200~" + strings.Repeat("a\r\u0085\u202e\u009b", 100)} {
		for _, width := range []int{1, 2, 20, 79} {
			_, shown, _ := typeInto(t, width, text, strings.Repeat("\x1b[D", 250), "\x1b[H", "y", "\x1b[F")
			for _, row := range strings.Split(shown, "\r") {
				plain := codes.ReplaceAllString(moves.ReplaceAllString(row, ""), "")
				wide := 0
				for _, r := range plain {
					if unseen(r) {
						t.Fatalf("%q is on the screen", r)
					}
					wide += columns(r)
				}
				if wide >= max(width, len(prompt)+2) {
					t.Fatalf("%d columns are drawn on a screen of %d: %q", wide, width, row)
				}
			}
		}
	}
}

// TestEditorKeepsWhatIsTyped: the words of others come above it, and it is there again.
func TestEditorKeepsWhatIsTyped(t *testing.T) {
	screen := &strings.Builder{}
	e := newEditor(screen, func() int { return 40 })
	e.feed([]byte("half a li"))
	screen.Reset()
	io.WriteString(above{e, screen}, "  an answer\n")
	if got, want := screen.String(), clearLine+"  an answer\n\r> half a li\x1b[K\r\x1b[11C"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	e.close()
	screen.Reset()
	io.WriteString(above{e, screen}, "afterwards\n")
	if got := screen.String(); got != "afterwards\n" {
		t.Errorf("got %q", got)
	}
}

// TestEditorHoldsLongLines: nothing is cut silently. What no message can hold is still too long when it is sent.
func TestEditorHoldsLongLines(t *testing.T) {
	for _, n := range []int{4095, 4096, 5000, wire.MaxChatText, wire.MaxChatText + 1, 2 * wire.MaxChatText} {
		lines, _, _ := typeInto(t, 80, "\x1b[200~"+strings.Repeat("x", n)+"\x1b[201~", "\n")
		if len(lines) != 1 || len(lines[0]) != min(n, wire.MaxChatText+1) {
			t.Errorf("of %d bytes %d are left", n, len(lines[0]))
		}
	}
}

// TestLongLinesAreRefused: by the editor's chat because no message holds them, by lines because the
// terminal has cut them.
func TestLongLinesAreRefused(t *testing.T) {
	d := newChatDaemon(t)
	keys, typed := io.Pipe()
	told := &screen{}
	a := quickApp(t, d.home, "", io.Discard)
	a.stdin, a.typed, a.stderr = keys, true, told
	done := make(chan error, 1)
	go func() { done <- dispatch(a, []string{"chat"}) }()
	io.WriteString(typed, strings.Repeat("x", longestTyped)+"\n")
	until(t, "it is refused", told.shows("scv: not sent: this terminal cuts a line after"))
	io.WriteString(typed, strings.Repeat("x", longestTyped-1)+"\n")
	until(t, "the next one arrives", func() bool { return len(d.messages()) == 1 })
	typed.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	c := &conversation{a: a, mine: map[string]bool{}}
	c.compose(strings.Repeat("x", wire.MaxChatText+1))
	if c.unsent != nil || !told.shows("not sent: a message holds at most 65536 bytes")() {
		t.Error("a line that no message holds is sent")
	}
}

// TestConverseEndsWhileTheDaemonIsAway: Ctrl-D leaves also then, and what could not be sent is told.
func TestConverseEndsWhileTheDaemonIsAway(t *testing.T) {
	d := newChatDaemon(t)
	keys, typed := io.Pipe()
	shown, told := &screen{}, &screen{}
	a := quickApp(t, d.home, "", shown)
	a.stdin, a.typed, a.stderr = keys, true, told
	done := make(chan error, 1)
	go func() { done <- dispatch(a, []string{"chat"}) }()
	until(t, "it is open", shown.shows("? "))
	d.stop()
	until(t, "it waits", told.shows("waiting for it to come back"))
	io.WriteString(typed, "hello\n")
	typed.Close()
	select {
	case err := <-done:
		if exitCode(err) != exitFailed || !strings.Contains(err.Error(), "may not have been sent") {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it hangs")
	}
}
