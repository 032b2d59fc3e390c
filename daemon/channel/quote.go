package channel

import "strings"

// Quote marks somebody's words line by line before a text that refers to them, so that they cannot pass for a part of it.
func Quote(words, text string) string {
	return "> " + strings.ReplaceAll(words, "\n", "\n> ") + "\n\n" + text
}
