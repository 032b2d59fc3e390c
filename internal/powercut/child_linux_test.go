package powercut

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"scv/internal/clock"
	"scv/store"
)

// A child that is not done by then has hung.
const (
	childLifetime = 90 * time.Second
	childTooLate  = 97
)

// roles are what a child does, with the path of the store as its first argument. It speaks on stdout, one
// line at a time and each in one write: what stands there was said before the power failed.
var roles = map[string]func(args []string) error{
	"work":   work,
	"look":   func(args []string) error { _, err := open(args[0], ""); return err },
	"create": create,
}

// The words a child begins its lines with.
const (
	sayHolds = "holds" // and the ledgers of all workers, as JSON
	sayAcked = "acked" // and the worker
	sayNone  = "none"  // there is no store
	sayWhole = "whole" // there is one, and it is sound
	sayBegin = "begin" // a creation begins
	sayMade  = "made"  // and has ended
)

// The ways a store is broken on purpose, to see that these tests notice.
const (
	brokenSync     = "no sync"         // the store never syncs
	brokenAck      = "ack too early"   // the child acknowledges inside the transaction
	brokenCreation = "written in place" // a new store is written under its own name, and not synced
)

func say(words ...any) { fmt.Println(words...) }

func optionsAt(path, broken string) store.Options {
	return store.Options{
		Path: path, Clock: clock.System{}, Release: "0.0.0-test", Instance: "8973cbc5", NoSync: broken == brokenSync,
	}
}

// open opens the store, sound to its last page, and says what it holds.
func open(path, broken string) (*store.Store, error) {
	ctx := context.Background()
	if err := store.Check(ctx, path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	s, err := store.Open(ctx, optionsAt(path, broken))
	if err != nil {
		return nil, err
	}
	if bad := s.Quarantined(); len(bad) > 0 {
		return nil, fmt.Errorf("in quarantine: %v", bad)
	}
	var held [workers]ledger
	err = s.View(func(v *store.View) error {
		for w := range held {
			held[w] = read(v, w)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(held, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	say(sayHolds, string(text))
	return s, begin(s, broken)
}
