package confirm_test

import (
	"strings"
	"testing"

	"scv/daemon/confirm"

	"pgregory.net/rapid"
)

func TestNotice(t *testing.T) {
	if got, want := confirm.Notice("", "done"), "scv notify: a script says\n«done»"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := confirm.Notice("claude-abcdef", "done"), "scv notify: claude-abcdef says\n«done»"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	long := confirm.ShownNotice(strings.Repeat("界", 400))
	if len(long) > 1024 || len(long) < 1000 || !strings.HasSuffix(long, "界 … [cut: too long when shown]") {
		t.Errorf("%d bytes, %q", len(long), long)
	}
}

// TestNoticeKeepsItsFrame: whatever is said, the chat gets the two lines of the frame and no other.
func TestNoticeKeepsItsFrame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.OneOf(rapid.String(), rapid.SampledFrom(harmful))
		shown := confirm.ShownNotice(strings.Join(rapid.SliceOf(piece).Draw(t, "text"), ""))
		checkShown(t, shown)
		lines := strings.Split(confirm.Notice("codex-abcdef", shown), "\n")
		if len(shown) > 1024 || len(lines) != 2 || lines[0] != "scv notify: codex-abcdef says" || lines[1] != "«"+shown+"»" {
			t.Fatalf("%d bytes, %q", len(shown), lines)
		}
	})
}
