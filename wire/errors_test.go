package wire_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"scv/wire"
)

// TestARefusalIsASentence: a word without end loses its middle, and the hint at the end stays.
func TestARefusalIsASentence(t *testing.T) {
	for _, n := range []int{0, 1, 900, 1000, 1010, 1024, 5000} {
		for shift := range utf8.UTFMax {
			word := strings.Repeat("x", shift) + strings.Repeat("字", n)
			e := wire.Refuse(wire.ComponentError, "no account %s: scv channels lists them", word)
			if len(e.Text) > wire.MaxRefusal || !utf8.ValidString(e.Text) {
				t.Errorf("%d bytes, valid %t", len(e.Text), utf8.ValidString(e.Text))
			}
			if !strings.HasPrefix(e.Text, "no account ") || !strings.HasSuffix(e.Text, ": scv channels lists them") {
				t.Errorf("an end is lost: %q", e.Text)
			}
			if whole := "no account " + word + ": scv channels lists them"; len(whole) <= wire.MaxRefusal && e.Text != whole {
				t.Errorf("%d bytes were shortened", len(whole))
			}
		}
	}
}
