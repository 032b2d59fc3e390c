package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// notText is what to do about words that cannot be sent: the daemon takes UTF-8 only (docs/rules.md §1).
const notText = "write it in UTF-8"

// line makes foreign text safe to show on one line: whatever could move the cursor, hide, reorder or
// break the line is shown as an escape.
func line(s string) string { return escape(s, func(rune) bool { return false }) }

// body makes foreign text safe to show as a message of its own: as line, but newlines and tabs stay.
func body(s string) string { return escape(s, func(r rune) bool { return r == '\n' || r == '\t' }) }

func escape(s string, keep func(rune) bool) string {
	var b strings.Builder
	for i, size := 0, 0; i < len(s); i += size {
		var r rune
		r, size = utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case keep(r) || !unseen(r):
			b.WriteString(s[i : i+size])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}

// unseen reports whether a reader cannot see r for what it is: control, bidi and zero-width
// characters, line separators, fillers, tags and the plane-14 variation selectors.
func unseen(r rune) bool {
	return unicode.IsControl(r) ||
		unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point) ||
		r >= 0xe0100 && r <= 0xe01ef
}

// counted is a number with its noun, of which one alone has no s.
func counted[N int | uint64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
