package main

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/mattn/go-runewidth"

	"scv/wire"
)

const (
	prompt      = "> "
	clearLine   = "\r\x1b[K"
	historySize = 100
)

// editor is a line that a person types, at the bottom of a screen on which others speak. The line takes
// one row and scrolls sideways, so that nothing depends on how a terminal breaks rows.
type editor struct {
	mu      sync.Mutex
	screen  io.Writer
	width   func() int // of the screen, in columns
	line    []rune
	at      int    // the cursor, in runes
	from    int    // the first rune shown
	rest    []byte // of a key that did not come whole
	pasting bool
	history []string
	recall  int    // which of history is shown; its length is the line being written
	draft   []rune // that line, while another is shown
	closed  bool
}

func newEditor(screen io.Writer, width func() int) *editor {
	return &editor{screen: screen, width: width}
}

// feed takes bytes as they come from the keyboard. It returns the lines they ended, and whether Ctrl-D
// ended everything.
func (e *editor) feed(b []byte) (lines []string, over bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rest = append(e.rest, b...)
	for !over {
		k, size := nextKey(e.rest)
		if size == 0 {
			break
		}
		e.rest = e.rest[size:]
		switch {
		case e.pasting:
			e.paste(k)
		case k == '\n' || k == '\r':
			lines = append(lines, e.enter())
		case k == ctrl('d') && len(e.line) == 0 || k == 0 && len(e.line) == 0: // a Ctrl-D from before we had the terminal is 0
			over = true
		default:
			e.press(k)
		}
	}
	e.draw()
	return lines, over
}

// enter ends the line and leaves it on the screen, whole.
func (e *editor) enter() string {
	text := string(e.line)
	var b strings.Builder
	b.WriteString(clearLine)
	for part := range strings.Lines(body(text) + "\n") {
		b.WriteString(prompt + part)
	}
	e.write(b.String())
	if strings.TrimSpace(text) != "" {
		e.history = append(e.history, text)
		e.history = e.history[max(0, len(e.history)-historySize):]
	}
	e.set(nil)
	e.recall, e.draft = len(e.history), nil
	return text
}

// paste takes what is pasted literally, newlines too, and nothing in it as a command.
func (e *editor) paste(k rune) {
	switch {
	case k == keyPasteEnd:
		e.pasting = false
	case k == '\r':
		e.insert('\n')
	case k == '\n' || k == '\t' || k >= ' ' && k != 0x7f:
		e.insert(k)
	}
}

// press is one key of a person.
func (e *editor) press(k rune) {
	switch k {
	case keyPasteStart:
		e.pasting = true
	case ctrl('b'):
		e.at = max(e.at-1, 0)
	case ctrl('f'):
		e.at = min(e.at+1, len(e.line))
	case ctrl('a'):
		e.at = 0
	case ctrl('e'):
		e.at = len(e.line)
	case ctrl('h'), 0x7f:
		e.cut(e.at-1, e.at)
	case ctrl('d'), keyDelete:
		e.cut(e.at, e.at+1)
	case ctrl('k'):
		e.cut(e.at, len(e.line))
	case ctrl('u'):
		e.cut(0, e.at)
	case ctrl('w'):
		e.cut(e.wordStart(), e.at)
	case ctrl('p'):
		e.look(e.recall - 1)
	case ctrl('n'):
		e.look(e.recall + 1)
	case ctrl('l'):
		e.write("\x1b[2J\x1b[H")
	default:
		if k == '\t' || k >= ' ' {
			e.insert(k)
		}
	}
}

// insert puts a rune before the cursor. A line that no message could hold stops growing, still too long:
// whoever sends it is told.
func (e *editor) insert(r rune) {
	if len(e.line) > wire.MaxChatText {
		return
	}
	e.line = append(e.line, 0)
	copy(e.line[e.at+1:], e.line[e.at:])
	e.line[e.at] = r
	e.at++
}

func (e *editor) cut(from, to int) {
	from, to = max(from, 0), min(to, len(e.line))
	if from < to {
		e.line = append(e.line[:from], e.line[to:]...)
		e.at = from
	}
}

func (e *editor) wordStart() int {
	i := e.at
	for i > 0 && e.line[i-1] == ' ' {
		i--
	}
	for i > 0 && e.line[i-1] != ' ' {
		i--
	}
	return i
}

func (e *editor) set(line []rune) { e.line, e.at, e.from = line, len(line), 0 }

// look shows an earlier line, or the one being written.
func (e *editor) look(which int) {
	if which < 0 || which > len(e.history) || which == e.recall {
		return
	}
	if e.recall == len(e.history) {
		e.draft = e.line
	}
	e.recall = which
	if which == len(e.history) {
		e.set(e.draft)
		return
	}
	e.set([]rune(e.history[which]))
}

// show draws the line anew, after the screen changed.
func (e *editor) show() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.write(pasteOn)
	e.draw()
}

// draw shows as much of the line as fits around the cursor.
func (e *editor) draw() {
	room := max(e.width()-len(prompt)-1, 1)
	if e.at <= e.from { // let something be seen to the left of the cursor
		e.from = max(e.at-room/2, 0)
	}
	left, before := e.at, 0 // what is shown before the cursor
	for left > e.from && before+columns(e.line[left-1]) <= room {
		left--
		before += columns(e.line[left])
	}
	e.from = left
	var b strings.Builder
	for used, i := 0, left; i < len(e.line); i++ {
		if used += columns(e.line[i]); used > room {
			break
		}
		b.WriteString(glyph(e.line[i]))
	}
	e.write(fmt.Sprintf("\r%s%s\x1b[K\r\x1b[%dC", prompt, b.String(), len(prompt)+before))
}

// write writes to the screen, whose errors show in the output of the verb (stickyWriter).
func (e *editor) write(s string) {
	if !e.closed {
		_, _ = io.WriteString(e.screen, s)
	}
}

// close takes the line off the screen; nothing is drawn any more.
func (e *editor) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.write(clearLine + pasteOff)
	e.closed = true
}

// glyph is how a rune of the line is shown: a newline by a sign, what cannot be seen by an escape.
func glyph(r rune) string {
	if r == '\n' {
		return "⏎"
	}
	return line(string(r))
}

func columns(r rune) int { return runewidth.StringWidth(glyph(r)) }

// above is a writer of whole lines that appear above the line being typed.
type above struct {
	e *editor
	w io.Writer
}

func (a above) Write(p []byte) (int, error) {
	a.e.mu.Lock()
	defer a.e.mu.Unlock()
	a.e.write(clearLine)
	n, err := a.w.Write(p)
	if !a.e.closed {
		a.e.draw()
	}
	return n, err
}
