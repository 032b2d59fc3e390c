package inbox

import (
	"context"
	"fmt"
	"testing"

	"scv/store"
	"scv/wire"
)

// Whatever strangers send while nothing can be delivered, few refusals wait before the owner's answers. The
// owner still hears why a message of theirs was not taken.
func TestRefusalsAreBounded(t *testing.T) {
	w := newWorld(t)
	w.set(store.Account{Enabled: true, RemoteTools: wire.ToolsOwner, Senders: wire.SendersAnyone, OwnerID: "owner"})
	for n := 1; n <= MaxPerConversation+20; n++ {
		w.receive(from("guest", fmt.Sprint("m", n)))
	}
	if replies := w.replies(); len(replies) != 1 || replies[0].InReplyTo != fmt.Sprint("m", MaxPerConversation+1) {
		t.Fatalf("one guest has %d refusals", len(replies))
	}
	for n := 2; n <= MaxRefusals+20; n++ { // each in a conversation of their own
		m := from(fmt.Sprint("guest", n), fmt.Sprint("g", n))
		m.Text = ""
		w.receive(m)
		if replies := len(w.replies()); replies != min(n, MaxRefusals) {
			t.Fatalf("%d refusals of %d guests", replies, n)
		}
	}
	mine := from("owner", "mine")
	mine.Text = ""
	w.receive(mine)
	replies := w.replies()
	if last := replies[len(replies)-1]; len(replies) != MaxRefusals+1 || last.InReplyTo != "mine" {
		t.Fatalf("the owner is told nothing: %d refusals, the last of %q", len(replies), last.InReplyTo)
	}
	w.must(w.store.Deliver(context.Background(), func(tx *store.Delivery) error { // the guest's one and another's
		for _, row := range tx.Outbox(account, 2) {
			w.must(tx.DeleteOutbound(account, row.Seq))
		}
		return nil
	}))
	if w.receive(from("guest", "again")); len(w.replies()) != MaxRefusals {
		t.Errorf("what was delivered makes no room: %d", len(w.replies()))
	}
}
