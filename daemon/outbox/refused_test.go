package outbox

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"scv/daemon/channel"
	"scv/store"
)

// The lines of ours in a message that carries others.
const (
	before = carriedHeader + "\n"
	after  = newHeader + "\n"
)

// What a platform refuses for good: a reply is held, a passing word is dropped, a question is told.
func TestRefused(t *testing.T) {
	inBubble(t, func(w *world) {
		p := w.platforms[a]
		p.become(refuse)
		passing, question := text("2", "busy"), text("3", "Deploy?")
		passing.Transient, question.Question = true, "q1"
		w.queue(a, text("1", "one"), passing, question, text("4", "four"))
		waiting, held := w.left(a)
		w.expect("waiting", waiting)
		w.expect("held", held, "1", "4")
		w.expect("asked", w.questions.heard(), "attempt q1", "refused q1")
		w.expect("delivered", w.delivered())
		time.Sleep(time.Hour)
		synctest.Wait()
		want := before + "one\n\n" + after + "four"
		w.expect("handed over", p.texts(), "one", "busy", "Deploy?", want, "four") // each once: a refusal is final
	})
}

// What a platform will never take keeps back no other answer: one that is refused with it goes without.
func TestHeldThatIsNeverTaken(t *testing.T) {
	inBubble(t, func(w *world) {
		p := w.platforms[a]
		p.max = 1000
		p.become(func(ctx context.Context, out channel.Outgoing) (channel.Receipt, error) {
			if strings.Contains(out.Text, "poison") {
				return refuse(ctx, out)
			}
			return accept(ctx, out)
		})
		w.queue(a, text("1", "poison"), text("2", "two"))
		const load = before + "poison\n\n" + after
		w.expect("handed over", p.texts(), "poison", load+"two", "two")
		w.expect("delivered", w.delivered(), a+" 2-0a")
		if handed := p.handed(); !handed[1].First || handed[2].First || !handed[2].Last {
			t.Errorf("the first send is not the first alone: %+v", handed)
		}
		waiting, held := w.left(a)
		w.expect("waiting", waiting)
		w.expect("held", held, "1")
		p.become(accept)
		w.queue(a, text("3", "three"))
		w.expect("handed over", p.texts()[3:], load+"three")
	})
}

// Held replies ride along with the next reply of their conversation, oldest first, and with nothing else.
func TestHeldRideAlong(t *testing.T) {
	inBubble(t, func(w *world) {
		p := w.platforms[a]
		p.max = 1000
		p.become(refuse)
		w.queue(a, text("1", "one"), text("2", "two"))
		other, passing, question := text("3", "elsewhere"), text("4", "busy"), text("5", "Deploy?")
		other.Conversation, passing.Transient, question.Question = "d", true, "q1"
		w.queue(a, other)
		p.become(accept)
		w.queue(a, passing, question)
		_, held := w.left(a)
		w.expect("held", held, "1", "2")
		p.become(refuse)
		w.queue(a, text("6", "refused too")) // its load is not lost with it
		_, held = w.left(a)
		w.expect("held", held, "1", "2", "6")
		p.become(accept)
		w.queue(a, text("7", "seven"), text("8", "eight"))
		_, held = w.left(a)
		w.expect("held", held)
		texts := p.texts()
		want := before + "one\n\n" + before + "two\n\n" + before + "refused too\n\n" + after + "seven"
		w.expect("handed over", texts[len(texts)-2:], want, "eight")
	})
}

// Where a platform shows all of a bot's words alike, each text in a message is marked by itself, and our lines between
// them: an agent's words in the program's block would pass for the program's, and the program's outside for the agent's.
func TestCarriedWordsAreMarked(t *testing.T) {
	inBubble(t, func(w *world) {
		w.marks = func(kind channel.Kind, text string) string { return string(kind) + "<" + text + ">" }
		p := w.platforms[a]
		p.max = 1000
		p.become(refuse)
		failed, failing := text("2", "it failed"), text("3", "that failed")
		failed.Kind, failing.Kind = string(channel.Failure), string(channel.Failure)
		w.queue(a, text("1", "an agent's"))
		p.become(func(ctx context.Context, out channel.Outgoing) (channel.Receipt, error) {
			if strings.HasPrefix(out.ClientID, "2-") {
				return refuse(ctx, out)
			}
			return accept(ctx, out)
		})
		w.queue(a, failed, failing)
		before, after := "notice<"+carriedHeader+">\n", "notice<"+newHeader+">\n"
		agents := before + "reply<an agent's>\n\n"
		w.expect("handed over", p.texts(), "an agent's", agents+after+"failure<it failed>", "it failed",
			agents+before+"failure<it failed>\n\n"+after+"failure<that failed>")
		for i, kind := range []channel.Kind{channel.Reply, channel.Reply, channel.Failure, channel.Reply} {
			if out := p.handed()[i]; out.Kind != kind {
				t.Errorf("part %d is of the kind %s: the adapter would mark it once more", i, out.Kind)
			}
		}
		w.queue(a, failed)
		if out := p.handed()[4]; out.Kind != channel.Failure || out.Text != "it failed" {
			t.Errorf("without a load it is %+v", out)
		}
	})
}

// A carrier stays one message: what does not fit waits for the next.
func TestHeldThatDoNotFit(t *testing.T) {
	inBubble(t, func(w *world) {
		p := w.platforms[a]
		p.max = 32 << 10
		p.become(refuse)
		w.queue(a, text("1", strings.Repeat("1", 9<<10)), text("2", strings.Repeat("2", 7<<10)), text("3", "three"))
		p.become(accept)
		w.queue(a, text("4", strings.Repeat("4", 2<<10)))
		_, held := w.left(a)
		w.expect("held", held, "2", "3") // in order, though the third would fit
		carrier := p.texts()[5]
		if len(carrier) > maxCarried || !strings.Contains(carrier, "[cut here") || !strings.HasSuffix(carrier, "444") {
			t.Errorf("a carrier of %d bytes", len(carrier))
		}
		w.queue(a, text("5", strings.Repeat("5", 16<<10)))
		_, held = w.left(a)
		w.expect("held", held, "2", "3")
		w.queue(a, text("6", "six"))
		_, held = w.left(a)
		w.expect("held", held)
	})
}

// A message refused in its middle: what the platform has already is not said again.
func TestRefusedHalfway(t *testing.T) {
	inBubble(t, func(w *world) {
		p := w.platforms[a]
		p.max = 400
		p.become(func(ctx context.Context, out channel.Outgoing) (channel.Receipt, error) {
			if out.ClientID == "1-1" {
				return refuse(ctx, out)
			}
			return accept(ctx, out)
		})
		w.queue(a, text("1", strings.Repeat("a", 400)+strings.Repeat("b", 100)))
		w.queue(a, text("2", "two"))
		texts := p.texts()
		want := before + strings.Repeat("b", 100) + "\n\n" + after + "two"
		w.expect("the carrier", texts[len(texts)-1:], want)
	})
}

func TestQuestions(t *testing.T) {
	inBubble(t, func(w *world) {
		question := text("1", "Deploy?")
		question.Question, question.Conversation = "q1", ""
		w.questions.want(false)
		w.queue(a, question)
		w.expect("handed over", w.platforms[a].texts())
		w.expect("asked", w.questions.heard(), "attempt q1")
		waiting, _ := w.left(a)
		w.expect("waiting", waiting)
		w.questions.want(true)
		question.Question, question.ClientID = "q2", "2"
		w.queue(a, question)
		w.expect("asked", w.questions.heard(), "attempt q1", "attempt q2", "accepted q2")
		w.expect("delivered", w.delivered(), a+" 2-0")
	})
}

func TestSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		limit := rapid.IntRange(utf8.UTFMax, 40).Draw(t, "limit")
		parts := split(text, limit)
		if strings.Join(parts, "") != text || len(parts) == 0 {
			t.Fatalf("parts %q", parts)
		}
		for i, part := range parts {
			if len(part) > limit || !utf8.ValidString(part) || part == "" && i > 0 {
				t.Fatalf("part %d: %q", i, part)
			}
			if i < len(parts)-1 && len(part) <= limit-utf8.UTFMax {
				t.Fatalf("part %d could be longer: %q", i, part)
			}
		}
	})
	for limit := range 6 { // it ends whatever an adapter says
		if got := strings.Join(split("aäŁ𝄞\x80\x80", limit), ""); got != "aäŁ𝄞\x80\x80" {
			t.Errorf("limit %d: %q", limit, got)
		}
	}
}

func TestCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		limit := rapid.IntRange(64, 200).Draw(t, "limit")
		got := cut(text, limit)
		switch {
		case len(text) <= limit && got != text:
			t.Fatalf("changed to %q", got)
		case len(text) > limit && (len(got) > limit || !utf8.ValidString(got) || !strings.HasSuffix(got, "longer]")):
			t.Fatalf("cut to %q", got)
		}
	})
}

func TestCarry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var held []store.OutboundRow
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 20<<10), 0, 6).Draw(t, "held") {
			held = append(held, store.OutboundRow{Outbound: store.Outbound{Text: strings.Repeat("h", n)}})
		}
		text := strings.Repeat("t", rapid.IntRange(0, 20<<10).Draw(t, "text"))
		limit := rapid.IntRange(4, 20<<10).Draw(t, "limit")
		whole, taken := carry(held, store.Outbound{Text: text}, limit, unmarked)
		switch {
		case len(taken) == 0 && whole != text:
			t.Fatal("changed for nothing")
		case len(taken) > 0 && (len(whole) > min(limit, maxCarried) || !strings.HasSuffix(whole, after+text)):
			t.Fatalf("a carrier of %d bytes for a limit of %d", len(whole), limit)
		case strings.Count(whole, before) != len(taken):
			t.Fatal("it counts wrong")
		}
	})
}
