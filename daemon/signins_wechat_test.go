package daemon

import (
	"strings"
	"testing"

	"scv/wire"
)

// A long answer goes in parts, of which one alone spends the message's token, and a question goes unprompted, marked
// as the program's own words.
func TestTokensOfWeChat(t *testing.T) {
	m := newInWeChat(t)
	k := newTalk(t, m)
	k.set(t, wire.ToolsOwner, wire.SendersOwner)
	long := k.says(t, line{text: strings.Repeat("many words ", 2000) + "and an end"})
	if last := k.sees(t, "and an end"); last.replyTo != "" {
		t.Errorf("the last part of a long answer spends a token: %+v", last)
	}
	spent := 0
	for _, h := range k.m.heard(t, k) {
		if h.replyTo == long {
			spent++
		}
	}
	if spent != 1 {
		t.Errorf("the long answer is %d times on its token", spent)
	}
	k.asks(t, "Deploy?")
	if q := k.sees(t, "Deploy?"); q.replyTo != "" || !strings.HasPrefix(q.text, "```") {
		t.Errorf("the question is %+v", q)
	}
}
