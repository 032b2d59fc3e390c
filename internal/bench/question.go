package main

import (
	"context"
	"fmt"
	"time"

	"scv/internal/clock"
	"scv/store"
	"scv/wire"
)

const account = "local:default"

// question is a pending one, of the usual size. Ids lie as scattered as the daemon's random ones: an id
// after the last would be cheaper to store.
func question(n uint64, now clock.Stamp) store.Confirm {
	return store.Confirm{
		ID: fmt.Sprintf("%012x", n*0x9e3779b97f4a7c15>>16), Code: fmt.Sprintf("%04x", n&0xffff), Account: account, Chat: "main", Owner: "uid:0",
		Question: "Shall the branch be merged and the old one be removed?", Timeout: 10 * time.Minute,
		Asked: now, Noted: now, LastPolled: now, State: wire.Pending,
	}
}

// storeQuestion writes what a question writes when it is asked.
func storeQuestion(ctx context.Context, s *store.Store, n uint64, now clock.Stamp) error {
	return s.Deliver(ctx, func(tx *store.Delivery) error {
		_, err := putQuestion(tx, question(n, now))
		return err
	})
}

func putQuestion(tx *store.Delivery, q store.Confirm) (seq uint64, err error) {
	if err := tx.PutConfirm(q); err != nil {
		return 0, err
	}
	if err := tx.AddJournal("confirm_asked", "owner", q.ID+" "+account, nil); err != nil {
		return 0, err
	}
	return tx.AddOutbound(account, store.Outbound{
		Kind: "question", Chat: q.Chat, Text: q.Question, ClientID: "q" + q.ID, Question: q.ID, Queued: q.Asked,
	})
}
