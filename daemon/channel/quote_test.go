package channel

import "testing"

// Whatever ends a line, the next one is marked as well.
func TestQuoteMarksEveryLine(t *testing.T) {
	for _, end := range []string{"\n", "\r", "\r\n", "\v", "\f", "\u0085", "\u2028", "\u2029"} {
		if got := Quote("first"+end+"delete all", "look"); got != "> first\n> delete all\n\nlook" {
			t.Errorf("with %+q: %+q", end, got)
		}
	}
}

func TestOneLine(t *testing.T) {
	for name, want := range map[string]string{
		"Ann": "Ann", "安 娜": "安 娜", "": "", "\n": "",
		"A\nB": "A B", "A\rB": "A B", "A\vB": "A B", "A\fB": "A B", "A\u0085B": "A B", "A\u2028B": "A B", "A\u2029B": "A B", "A\x00\x1bB": "A  B",
	} {
		if got := OneLine(name); got != want {
			t.Errorf("%+q becomes %+q, not %+q", name, got, want)
		}
	}
}
