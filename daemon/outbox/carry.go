package outbox

import (
	"strings"
	"unicode/utf8"

	"scv/daemon/channel"
	"scv/store"
)

// Bounds of what a reply carries along (docs/rules.md §9): held text is cut, and a carrier stays in one
// message.
const (
	maxCarried = 16 << 10
	maxHeld    = 8 << 10
)

const (
	carriedHeader = "(This could not be delivered before:)"
	newHeader     = "(And the answer to your latest message:)"
)

// carries reports whether refused replies of its conversation may ride along with a message that has
// not been begun.
func carries(o store.Outbound) bool {
	return o.Conversation != "" && !o.Transient && o.Question == "" && o.NextPart == 0
}

// marking tells whose words a text is.
type marking func(kind channel.Kind, text string) string

// unmarked is for platforms that show it themselves.
func unmarked(_ channel.Kind, text string) string { return text }

// header is a line of ours between the words of others.
func (mark marking) header(line string) string { return mark(channel.Notice, line) + "\n" }

// words are those of a message.
func (mark marking) words(o store.Outbound) string { return mark(channel.Kind(o.Kind), o.Text) }

// carry puts held replies in front of a message's text, oldest first, as many as fit into one message of at most
// limit bytes. It returns those it took along; the rest wait for the next. Each is marked by itself: one in the
// block of another would pass for words of whoever wrote that.
func carry(held []store.OutboundRow, own store.Outbound, limit int, mark marking) (string, []store.OutboundRow) {
	text := mark.header(newHeader) + mark.words(own)
	room := min(limit, maxCarried) - len(text)
	var old strings.Builder
	taken := 0
	for _, row := range held {
		row.Outbound.Text = cut(row.Outbound.Text, maxHeld)
		piece := mark.header(carriedHeader) + mark.words(row.Outbound) + "\n\n"
		if old.Len()+len(piece) > room {
			break
		}
		old.WriteString(piece)
		taken++
	}
	if taken == 0 {
		return own.Text, nil
	}
	return old.String() + text, held[:taken]
}

// cut shortens text to at most limit bytes on a character boundary, with a visible mark.
func cut(text string, limit int) string {
	const mark = "\n[cut here: the text was longer]"
	if len(text) <= limit {
		return text
	}
	return text[:boundary(text, limit-len(mark))] + mark
}

// split cuts text into parts of at most limit bytes on character boundaries, at least one.
func split(text string, limit int) []string {
	var parts []string
	for len(text) > limit {
		n := boundary(text, limit)
		parts, text = append(parts, text[:n]), text[n:]
	}
	return append(parts, text)
}

// boundary is the largest start of a character at or before n, at least one whole character in.
func boundary(text string, n int) int {
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	if n <= 0 {
		_, n = utf8.DecodeRuneInString(text)
	}
	return n
}
