package confirm

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxShown = 4096 // bytes: a plain question always fits, only one that grew by escapes is cut
	maxQuote = 60   // characters of a question that a later line repeats
	maxMarks = 4    // combining marks on one letter; more would paint over the lines around
	cutMark  = " … [cut: too long when shown]"
)

// Shown makes an asker's text safe to put before a person: one line, in which everything that is
// invisible, reorders text or breaks the line is a visible escape such as \u202e, and « and », which
// frame it, are ‹ and ›. What is stored, hashed and answered is this text. Shown(Shown(s)) == Shown(s).
func Shown(s string) string { return shown(s, maxShown) }

func shown(s string, limit int) string {
	s = strings.ReplaceAll(strings.TrimSpace(s), "\r\n", "\n")
	var out strings.Builder
	cutAt := 0 // how much of it fits together with the mark
	w := writer{marks: maxMarks}
	for _, r := range s {
		out.WriteString(w.show(r))
		if out.Len() <= limit-len(cutMark) {
			cutAt = out.Len()
		}
		if out.Len() > limit {
			return strings.TrimRight(out.String()[:cutAt], " ") + cutMark
		}
	}
	return out.String()
}

// writer shows a text rune by rune; what is harmless depends on what stands before.
type writer struct {
	before rune
	marks  int // combining marks since the last base letter
}

func (w *writer) show(r rune) string {
	before := w.before
	w.before = r
	switch {
	case unicode.IsMark(r) && !invisible(r):
		if w.marks++; w.marks > maxMarks {
			return escape(r)
		}
		return string(r)
	case unicode.Is(unicode.Zs, r): // all kinds of blanks, so that none pushes text to a new line
		w.before, w.marks = ' ', maxMarks
		if before == ' ' {
			return ""
		}
		return " "
	case r == '\ufe0f' && unicode.Is(unicode.So, before):
		return "" // only picks the coloured form of the symbol before it
	}
	w.marks = 0
	switch {
	case r == '\n':
		return "⏎"
	case r == '«':
		return "‹"
	case r == '»':
		return "›"
	case invisible(r):
		return escape(r)
	}
	return string(r)
}

// invisible reports whether a person would not see the rune, or would see others moved by it.
func invisible(r rune) bool {
	return !unicode.IsGraphic(r) || // controls, format characters (bidi, zero width, tags), unassigned
		unicode.Is(unicode.Variation_Selector, r) ||
		unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || // fillers
		r == '\u2800' // a blank that counts as a symbol
}

func escape(r rune) string {
	if r > 0xffff {
		return fmt.Sprintf(`\u{%x}`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// Message is the text that the chat shows.
func (q Question) Message() string { return Detail(q).Message() }

// The lines that close the loop in the chat. Each names the question, since several may have been open.
const (
	goingAhead    = "Going ahead"
	stopped       = "Stopped"
	noAnswer      = "No answer in time, which counts as no"
	noLongerAsked = "No longer asked, an answer does not count any more"
	tooLate       = "Your answer came too late and does not count; no answer in time counts as no"
)

func (q Question) line(what string) string { return what + ": " + q.Name() }

// lineIfSeen is silent about a question that the chat never saw.
func (q Question) lineIfSeen(what string) string {
	if q.Opened.IsZero() {
		return ""
	}
	return q.line(what)
}

// Name is the question's code and the beginning of its text.
func (q Question) Name() string {
	text := q.Question
	if utf8.RuneCountInString(text) > maxQuote {
		text = string([]rune(text)[:maxQuote]) + "…"
	}
	return q.Code + " «" + text + "»"
}
