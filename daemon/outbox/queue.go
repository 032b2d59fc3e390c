package outbox

import (
	"strings"
	"unicode/utf8"

	"scv/internal/clock"
	"scv/store"
)

// Bounds of what a reply carries along (channels: held text is cut to 8 KiB, a carrier stays in one
// 16 KiB message).
const (
	maxCarried = 16 << 10
	maxHeld    = 8 << 10
)

const (
	carriedHeader = "(This could not be delivered before:)\n"
	newHeader     = "(And the answer to your latest message:)\n"
)

// Queue makes out durable. Replies of the same conversation that the platform refused ride along,
// oldest first, as many as fit; the rest wait for the next.
func Queue(tx *store.Delivery, account string, out store.Outbound, now clock.Stamp) error {
	out.Queued = now
	if out.Conversation == "" {
		_, err := tx.AddOutbound(account, out)
		return err
	}
	var carried strings.Builder
	for _, row := range tx.Held(account, out.Conversation) {
		old := Cut(row.Outbound.Text, maxHeld)
		if carried.Len()+len(old)+len(out.Text)+256 > maxCarried {
			break
		}
		carried.WriteString(carriedHeader + old + "\n\n")
		if err := tx.DeleteOutbound(account, row.Seq); err != nil {
			return err
		}
	}
	if carried.Len() > 0 {
		out.Text = carried.String() + newHeader + out.Text
	}
	_, err := tx.AddOutbound(account, out)
	return err
}

// Cut shortens text to at most limit bytes on a character boundary, with a visible mark.
func Cut(text string, limit int) string {
	const mark = "\n[cut here: the text was longer]"
	if len(text) <= limit {
		return text
	}
	return text[:boundary(text, limit-len(mark))] + mark
}

// Split cuts text into parts of at most limit bytes on character boundaries, at least one.
func Split(text string, limit int) []string {
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
	if n == 0 {
		_, n = utf8.DecodeRuneInString(text)
	}
	return n
}
