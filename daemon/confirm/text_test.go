package confirm_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"scv/daemon/confirm"

	"pgregory.net/rapid"
)

func TestShown(t *testing.T) {
	for in, want := range map[string]string{
		"Deploy to production?":                                 "Deploy to production?",
		"部署到生产环境吗？ 100% é ñ עברית 🚀":                            "部署到生产环境吗？ 100% é ñ עברית 🚀",
		" \n trimmed \r\n ":                                     "trimmed",
		"a\nb\r\nc\rd":                                          `a⏎b⏎c\u000dd`,
		"tab\tbell\a\x00esc\x1b[31m":                            `tab\u0009bell\u0007\u0000esc\u001b[31m`,
		"c1\u0085\u009b":                                        `c1\u0085\u009b`,
		"x\u200by\u200dz\ufeffw\u2060":                          `x\u200by\u200dz\ufeffw\u2060`,
		"safe\u202egpj.exe\u2066\u2069":                         `safe\u202egpj.exe\u2066\u2069`,
		"l\u2028p\u2029e":                                       `l\u2028p\u2029e`,
		"tag\U000e0041\U000e0100\ufe00":                         `tag\u{e0041}\u{e0100}\ufe00`,
		"hidden\u3164\u115f\u2800\u00ad":                        `hidden\u3164\u115f\u2800\u00ad`,
		"private\ue000\U000f0000":                               `private\ue000\u{f0000}`,
		"a  b \u00a0\u2003\u3000 c":                             "a b c",
		"end» scv «begin":                                       "end› scv ‹begin",
		"⚠\ufe0f Deploy?":                                       "⚠ Deploy?",
		"⚠\ufe0f\ufe0fx\ufe0f":                                  `⚠\ufe0fx\ufe0f`,
		"\u0301start, e\u0301, z\u0301\u0302\u0303\u0304\u0305": `\u0301start, e` + "\u0301, z\u0301\u0302\u0303\u0304" + `\u0305`,
		"bad\xffutf8":                                           "bad\ufffdutf8",
	} {
		if got := confirm.Shown(in); got != want {
			t.Errorf("Shown(%q)\n got %q\nwant %q", in, got, want)
		}
	}
}

func TestShownIsCutVisibly(t *testing.T) {
	full := strings.Repeat("x", 4096)
	if got := confirm.Shown(full); got != full {
		t.Error("a plain question of the largest size was changed")
	}
	grown := []string{strings.Repeat("\u200b", 1365), strings.Repeat("a\u202e ", 700), strings.Repeat("\U000e0001", 1<<18)}
	for i := range 8 { // so that the cut falls everywhere, also behind a blank
		grown = append(grown, strings.Repeat("x", i)+strings.Repeat("\u202e ", 700))
	}
	for _, grown := range grown {
		got := confirm.Shown(grown)
		body, marked := strings.CutSuffix(got, " … [cut: too long when shown]")
		if !marked || len(got) > 4096 || len(got) < 4000 {
			t.Errorf("%d bytes, marked %v", len(got), marked)
		}
		checkShown(t, got)
		if cut := body[strings.LastIndex(body, `\`):]; len(cut) < 6 {
			t.Errorf("cut within an escape: %q", cut)
		}
	}
}

// harmful are pieces that asks are spoofed with.
var harmful = []string{
	"\u202e", "\u202d", "\u2066", "\u2067", "\u2068", "\u2069", "\u200e", "\u200f", "\u061c", // bidi
	"\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u180e", "\u034f", "\u115f", "\u3164", "\uffa0", "\u2800", // unseen
	"\U000e0001", "\U000e0041", "\U000e0100", "\ufe00", "\ufe0f", "\n", "\r", "\r\n", "\v", "\f", "\x00", "\x1b[2J", "\x1b]0;x\a",
	"\u0085", "\u2028", "\u2029", "\u00a0", "\u3000", "          ", "«", "»", "\u0301\u0302\u0303\u0304\u0305\u0306",
	"\n\nOwner already approved. Reply no to cancel", "\nAnswer yes or no (if several", "scv confirm 00: someone on this machine asks\n«",
	"»\nNo answer within 1 minute counts as no.", "<at user_id=\"all\">", "**bold**", "```\n", "[link](http://x)", "<b>", "\xff\xfe", "是",
	"deploy", " ", "?", strings.Repeat("long ", 300),
}

// checkShown fails when a shown text could deceive: it is one line, of visible runes, in bounds.
func checkShown(t interface{ Fatalf(string, ...any) }, shown string) {
	if len(shown) > 4096 || !utf8.ValidString(shown) {
		t.Fatalf("%d bytes, valid %v", len(shown), utf8.ValidString(shown))
	}
	if again := confirm.Shown(shown); again != shown {
		t.Fatalf("showing it again changes it: %q, %q", shown, again)
	}
	if strings.ContainsAny(shown, "«»") || strings.Contains(shown, "  ") {
		t.Fatalf("it can break the frame: %q", shown)
	}
	unseen := []*unicode.RangeTable{unicode.C, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point}
	for _, r := range shown {
		if unicode.In(r, unseen...) || (unicode.Is(unicode.Zs, r) && r != ' ') || r == '\u2800' {
			t.Fatalf("%U is shown in %q", r, shown)
		}
	}
}

// TestSpoofedQuestions: 1,000 of them are stored as shown, and in the message that the chat gets only
// the three lines of the frame are lines.
func TestSpoofedQuestions(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		var text strings.Builder
		for range 1 + random.IntN(12) {
			text.WriteString(harmful[random.IntN(len(harmful))])
		}
		ask := confirm.Ask{Account: account, Chat: chat, Owner: owner, Question: text.String()}
		q, err := confirm.New(ask, at(0), "id", never, random.IntN)
		if err != nil {
			continue // only blanks, or too long
		}
		checkShown(t, q.Question)
		lines := strings.Split(q.Message(), "\n")
		if len(lines) != 3 || lines[1] != "«"+q.Question+"»" {
			t.Fatalf("a forged frame: %q", q.Message())
		}
		want := "scv confirm " + q.Code + ": someone on this machine asks"
		if lines[0] != want || !strings.HasPrefix(lines[2], "Answer yes or no (if several questions are open: yes "+q.Code+" or no "+q.Code+").") {
			t.Fatalf("the frame is %q", lines)
		}
	}
}

func TestShownOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.OneOf(rapid.String(), rapid.SampledFrom(harmful), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
		checkShown(t, confirm.Shown(strings.Join(rapid.SliceOf(piece).Draw(t, "text"), "")))
	})
}

func TestMessage(t *testing.T) {
	q := question(t, "q", 0x3f)
	q.Asker = "claude-abcdef"
	for timeout, want := range map[time.Duration]string{
		time.Second: "1 second", time.Minute: "1 minute", 61 * time.Second: "61 seconds", 150 * time.Second: "3 minutes", 30 * time.Minute: "30 minutes", 4 * time.Hour: "240 minutes",
	} {
		q.Timeout = timeout
		text := "scv confirm 3f: claude-abcdef asks\n«Deploy q?»\nAnswer yes or no (if several questions are open: yes 3f or no 3f). No answer within " + want + " counts as no."
		if got := q.Message(); got != text {
			t.Errorf("%v: %q", timeout, got)
		}
	}
}

// TestLinesAreShort: a line repeats at most 60 characters of the question, and says that it is cut.
func TestLinesAreShort(t *testing.T) {
	q := opened(t, "q", 0x3f)
	q.Question = strings.Repeat("界", 61)
	_, line := q.Withdraw(at(time.Minute))
	if want := "3f «" + strings.Repeat("界", 60) + "…»"; !strings.HasSuffix(line, want) {
		t.Errorf("%q", line)
	}
}
