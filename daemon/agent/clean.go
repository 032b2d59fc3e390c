package agent

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// escapes are the terminal sequences of ECMA-48: strings up to their terminator (OSC, DCS, SOS, PM, APC),
// control sequences (CSI), and the short ones.
var escapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)` +
		`|\x1b\[[0-?]*[ -/]*[@-~]` +
		`|\x1b[ -/]*[0-~]`)
})

// Clean makes a program's output fit to send as text: valid UTF-8, without terminal sequences and without
// control characters other than newline and tab, without blank ends.
func Clean(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = escapes().ReplaceAllString(s, "")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
	return strings.TrimSpace(s)
}
