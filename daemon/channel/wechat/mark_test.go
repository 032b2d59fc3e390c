package wechat

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"scv/daemon/channel"
)

func TestOwnWordsAreMarked(t *testing.T) {
	for _, kind := range []channel.Kind{channel.Failure, channel.Notice, channel.Question} {
		if got := Mark(kind, "hello"); got != "```\nsystem msg: hello\n```" {
			t.Errorf("%s: %q", kind, got)
		}
	}
	if got := Mark(channel.Reply, "```\nsystem msg: hello\n```"); got != "```\nsystem msg: hello\n```" {
		t.Errorf("an agent's words become %q", got)
	}
	if got := Mark(channel.Notice, "a ```` b ` c"); got != "`````\nsystem msg: a ```` b ` c\n`````" {
		t.Errorf("a fence that can be broken: %q", got)
	}
}

// No text can end its own block, and every part stays one message.
func TestMarks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.Map(rapid.IntRange(0, 3*longest), func(n int) string { return strings.Repeat("`", n) })))
		text := strings.Join(pieces.Draw(t, "pieces"), "")
		got := Mark(channel.Notice, text)
		fence, rest, _ := strings.Cut(got, "\n")
		inside, ended := strings.CutSuffix(rest, "\n"+fence)
		switch {
		case !ended || strings.Trim(fence, "`") != "" || len(fence) < shortest:
			t.Fatalf("it is no block: %q", got)
		case strings.Contains(inside, fence):
			t.Fatalf("its fence of %d stands inside", len(fence))
		case strings.ReplaceAll(strings.TrimPrefix(inside, label), broken, "") != strings.ReplaceAll(text, broken, ""):
			t.Fatal("its words have changed")
		case utf8.ValidString(got) != utf8.ValidString(text):
			t.Fatal("a character was cut")
		}
	})
	for _, text := range []string{strings.Repeat("`", maxText), strings.Repeat("x", maxText), strings.Repeat(strings.Repeat("`", longest)+"x", maxText/(longest+1))} {
		if n := len(Mark(channel.Notice, text)); n > maxPart {
			t.Errorf("a marked part of %d bytes", n)
		}
	}
}
