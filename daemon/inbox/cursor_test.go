package inbox

import (
	"context"
	"errors"
	"testing"

	"scv/daemon/channel"
)

func (w *world) cursor() string {
	w.t.Helper()
	cursor, err := w.inbox.Cursor(account)
	w.must(err)
	return cursor
}

// The cursor moves with the messages that it leaves behind or not at all, also over a restart, and also
// where the batch is larger than one transaction.
func TestTheCursorIsNeverAhead(t *testing.T) {
	w := newWorld(t)
	if w.cursor() != "" {
		t.Errorf("a cursor %q before the first", w.cursor())
	}
	ctx := context.Background()
	w.must(w.inbox.ReceiveTo(ctx, account, nil, "1"))
	var batch []channel.Message
	for i := range chunk + 1 {
		batch = append(batch, from("stranger", "m"+string(rune('a'+i))))
	}
	batch[chunk] = from("owner", "last")
	w.fail, w.failAt = errors.New("the disk is full"), "last"
	if err := w.inbox.ReceiveTo(ctx, account, batch, "2"); !errors.Is(err, w.fail) {
		t.Fatalf("got %v", err)
	}
	if w.open(); w.cursor() != "1" || len(w.claims()) != 0 {
		t.Errorf("cursor %q with claims %+v", w.cursor(), w.claims())
	}
	w.fail = nil
	w.must(w.inbox.ReceiveTo(ctx, account, batch, "2"))
	if w.open(); w.cursor() != "2" || len(w.claims()) != 1 {
		t.Errorf("cursor %q with claims %+v", w.cursor(), w.claims())
	}
}

// What is quoted reaches the agent marked as such, and a question's rule not at all.
func TestQuotedWordsAreNotTheSenders(t *testing.T) {
	w := newWorld(t)
	m := from("owner", "m1")
	m.Text, m.Quotes, m.Quoted = "is that so?", "q", "first\n\nyes"
	w.receive(m)
	if got := w.claims()[0].Text; got != "> first\n> \n> yes\n\nis that so?" {
		t.Errorf("the agent reads %q", got)
	}
}

// A thread is a conversation of its own with its chat's authority, and no place for an answer.
func TestThreads(t *testing.T) {
	w := newWorld(t)
	w.answers = true
	m := from("owner", "m1")
	m.Thread = "omt_1"
	w.receive(m)
	claims := w.claims()
	if len(claims) != 1 || !claims[0].Owner || claims[0].Conversation != "owner\x00omt_1" {
		t.Errorf("claims %+v", claims)
	}
	if len(w.answered) != 0 {
		t.Errorf("offered to questions: %v", w.answered)
	}
}
