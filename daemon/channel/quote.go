package channel

import (
	"strings"
	"unicode"
)

// lineEnds makes one line feed of whatever somebody may show, or read, as the end of a line.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// Lines is a text whose every line ends with a line feed, and nothing else.
func Lines(text string) string { return lineEnds.Replace(text) }

// Quote marks somebody's words line by line before a text that refers to them, so that they cannot pass for a part of it.
func Quote(words, text string) string {
	return "> " + strings.ReplaceAll(Lines(words), "\n", "\n> ") + "\n\n" + text
}

// OneLine makes a name that somebody else chose fit to stand in a sentence: a line break in it would begin a line that
// passes for words of whoever wrote the sentence.
func OneLine(name string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, name))
}
