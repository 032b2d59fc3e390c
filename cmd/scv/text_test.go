package main

import (
	"strings"
	"testing"
	"testing/quick"
	"unicode/utf8"
)

func TestLineEscapes(t *testing.T) {
	for in, want := range map[string]string{
		"plain 你好 é 👍":    "plain 你好 é 👍",
		"\x1b[31mred":     `\x1b[31mred`,
		"a\nb\tc\rd":      `a\nb\tc\x0dd`,
		"\u202egnp.exe":   `\u202egnp.exe`,
		"zero\u200bwidth": `zero\u200bwidth`,
		"\u2066x\u2069":   `\u2066x\u2069`,
		"\u2028\u2029":    `\u2028\u2029`,
		"\u009b31m":       `\u009b31m`,
		"\U000e0041tag":   `\U000e0041tag`,
		"v\U000e0100":     `v\U000e0100`,
		"\u3164filler":    `\u3164filler`,
		"bad\xff\xfe":     `bad\xff\xfe`,
		"\ufffd":          "\ufffd", // itself, not a broken byte
	} {
		if got := line(in); got != want {
			t.Errorf("line(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestBodyKeepsOnlyNewlineAndTab(t *testing.T) {
	if got, want := body("a\n\tb\x1b\u202e\r"), "a\n\tb"+`\x1b\u202e\x0d`; got != want {
		t.Errorf("body = %q, want %q", got, want)
	}
}

// It is tried with the standard library: this binary is scv itself hundreds of times in the scripts, and a library
// for properties would cost each start a tenth of its time.
func TestNothingUnseenPasses(t *testing.T) {
	passes := func(raw []byte, text string) bool {
		in := string(raw) + text
		out := body(in)
		return !strings.ContainsFunc(line(in), unseen) && utf8.ValidString(out) && !strings.ContainsRune(out, '\x1b')
	}
	if err := quick.Check(passes, &quick.Config{MaxCount: 1000}); err != nil {
		t.Error(err)
	}
}
