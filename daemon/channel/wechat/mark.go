package wechat

import (
	"strings"

	"scv/daemon/channel"
)

// The chat shows everything a bot says alike. So the program's own words stand in a block of code with a label,
// which an agent's words rarely do. It is a cue for the eye and no proof.

const (
	label     = "system msg: "
	shortest  = 3  // a fence
	longest   = 64 // of a run of backticks inside; a longer one is broken up
	broken    = "\u200b"
	maxPart   = 16 << 10 // bytes that a person is shown at once
	maxMarked = 1 << 10  // bytes that marking adds at most
	maxText   = maxPart - maxMarked
)

// Mark is a text as the chat gets it: an agent's as it is, any other in its block. The fence is longer than every run
// of backticks inside, so that the text cannot end its block.
func Mark(kind channel.Kind, text string) string {
	if kind == channel.Reply {
		return text
	}
	text = breakUp(text)
	fence := strings.Repeat("`", max(shortest, run(text)+1))
	return fence + "\n" + label + text + "\n" + fence
}

// run is the length of the longest run of backticks.
func run(text string) (longest int) {
	n := 0
	for i := range len(text) {
		if n++; text[i] != '`' {
			n = 0
		}
		longest = max(longest, n)
	}
	return longest
}

// breakUp puts something invisible into runs of backticks that would need too long a fence.
func breakUp(text string) string {
	long := strings.Repeat("`", longest)
	return strings.ReplaceAll(text, long, long+broken)
}
