package inbox

import (
	"context"
	"strings"
	"testing"

	"scv/daemon/channel"
	"scv/store"
)

// Ids that are too long for the key of a conversation cost the message and nothing around it. What is taken, the
// store can keep, however long the account's name is.
func TestLongIDs(t *testing.T) {
	const owner = len("owner\x00")
	longest := strings.Repeat("c", 64) + ":" + strings.Repeat("a", 64)
	for name, make := range map[string]func(m *channel.Message, bytes int){ // of the key
		"sender and thread": func(m *channel.Message, bytes int) { m.Thread = strings.Repeat("x", bytes-owner) },
		"group and sender":  func(m *channel.Message, bytes int) { m.Direct, m.Chat = false, strings.Repeat("x", bytes-owner) },
		"no text, which grows": func(m *channel.Message, bytes int) {
			m.Thread = strings.Repeat("a\xff", (bytes-owner)/4) + strings.Repeat("x", (bytes-owner)%4)
		},
	} {
		for over, taken := range map[int]int{-1: 3, 0: 3, 1: 2} {
			w := newWorld(t)
			m := from("owner", "m")
			make(&m, maxConversation+over)
			w.receive(from("owner", "before"), m, from("owner", "after"))
			w.receive(m) // and again
			if claims := w.claims(); len(claims) != taken || len(w.recorded) != taken || len(w.replies()) != 0 {
				t.Errorf("%s, %+d: %d claims, recorded %v, replies %v", name, over, len(claims), w.recorded, w.replies())
			}
			w.must(w.store.Deliver(context.Background(), func(tx *store.Delivery) error {
				for _, row := range tx.Claims(account) {
					if err := tx.PutConversation(longest, row.Claim.Conversation, store.Conversation{}); err != nil {
						return err
					}
				}
				return nil
			}))
		}
	}
}
