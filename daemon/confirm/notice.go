package confirm

import "fmt"

const maxNotice = 1024 // bytes: a line that a person reads in passing

// ShownNotice is Shown for a line that needs no answer, which is cut earlier.
func ShownNotice(s string) string { return shown(s, maxNotice) }

// Notice is what the chat shows of a text from ShownNotice: framed as a question is, so that it cannot
// pass for the words of anybody else. asker is the handle of the run that speaks, or "".
func Notice(asker, text string) string {
	if asker == "" {
		asker = "a script"
	}
	return fmt.Sprintf("scv notify: %s says\n«%s»", asker, text)
}
