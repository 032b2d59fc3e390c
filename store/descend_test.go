package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"scv/wire"
)

// A leaf that a transaction has emptied stays in the tree until its commit, and calls of many share one.
// bbolt's way back through such leaves ends too early, or, where all are empty, never.
func TestDescendPassesEmptiedLeaves(t *testing.T) {
	const many = 40 // questions on several leaves
	s := quickStore(t)
	now := s.clock.Now()
	ask := func(n int) Confirm {
		return Confirm{
			ID: fmt.Sprintf("%012x", n), Code: fmt.Sprintf("%02x", n), Account: local, Chat: "main",
			Question: strings.Repeat("x", 600), Asked: now, Noted: now, LastPolled: now, State: wire.Pending,
		}
	}
	must(t, s.Deliver(t.Context(), func(d *Delivery) error {
		for n := range many {
			must(t, d.PutConfirm(ask(n)))
		}
		return nil
	}))
	for _, left := range [][]string{{ask(0).ID}, {ask(many - 1).ID}, {ask(3).ID, ask(30).ID}, {}} {
		t.Run(fmt.Sprint(left), func(t *testing.T) {
			undo := errors.New("undo")
			err := s.Deliver(t.Context(), func(d *Delivery) error {
				for n := range many {
					if !slices.Contains(left, ask(n).ID) {
						must(t, d.t.remove(tableConfirms, []byte(ask(n).ID)))
					}
				}
				var got []string
				for key := range descendRaw(d.t, tableConfirms, nil) {
					got = append(got, string(key))
				}
				slices.Reverse(got)
				if !slices.Equal(got, left) {
					t.Errorf("found %v, want %v", got, left)
				}
				return undo
			})
			if !errors.Is(err, undo) {
				t.Error(err)
			}
		})
	}
}
