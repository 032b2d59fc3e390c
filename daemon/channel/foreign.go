package channel

import (
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// This file is how adapters read what others wrote.

// ReadJSON reads JSON of a platform: it may repeat a name, and what is no text becomes U+FFFD.
func ReadJSON(raw []byte, into any) error {
	return json.Unmarshal(raw, into, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// Clip cuts text to at most limit bytes, with a mark.
func Clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len("…")], "") + "…"
}

// endOfYears is where times end that can be written down as dates, in milliseconds.
const endOfYears = 253402300800000

// Millis reads a time in milliseconds; zero is none.
func Millis(digits string) time.Time {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n <= 0 || n >= endOfYears {
		return time.Time{}
	}
	return time.UnixMilli(n)
}
