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
	"look":   look,
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
	brokenSync     = "no sync"          // the store never syncs
	brokenAck      = "ack too early"    // the child acknowledges inside the transaction
	brokenWhole    = "two halves"       // the child makes two transactions of one
	brokenCreation = "written in place" // a new store is written under its own name, and not synced
)

func say(words ...any) { fmt.Println(words...) }

func optionsAt(path, broken string) store.Options {
	return store.Options{
		Path: path, Clock: clock.System{}, Release: "0.0.0-test", Instance: "8973cbc5", NoSync: broken == brokenSync,
	}
}

// open opens the store, sound to its last page, and says what it holds.
func open(path, broken string) (s *store.Store, held []ledger, err error) {
	ctx := context.Background()
	if err := store.Check(ctx, path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	if s, err = store.Open(ctx, optionsAt(path, broken)); err != nil {
		return nil, nil, err
	}
	if bad := s.Quarantined(); len(bad) > 0 {
		return nil, nil, fmt.Errorf("in quarantine: %v", bad)
	}
	err = s.View(func(v *store.View) error {
		for w := range workers {
			held = append(held, read(v, w))
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	text, err := json.Marshal(held, json.Deterministic(true))
	say(sayHolds, string(text))
	return s, held, err
}

func look(args []string) error {
	s, _, err := open(args[0], "")
	if err != nil {
		return err
	}
	return s.Close()
}

// work goes on where the worker of the child before stopped, until the power fails.
func work(args []string) error {
	path, broken := args[0], args[2]
	seed, err := strconv.ParseUint(args[1], 10, 64)
	if err != nil {
		return err
	}
	s, held, err := open(path, broken)
	if err != nil {
		return err
	}
	failures := make([]error, workers)
	var running sync.WaitGroup
	for w := range workers {
		running.Go(func() { failures[w] = workAs(w, s, seed, held[w].transactions(), broken) })
	}
	running.Wait()
	return errors.Join(failures...)
}

// workAs ends when the store refuses, as it must without power: what it acknowledges then was no promise.
func workAs(worker int, s *store.Store, seed, done uint64, broken string) error {
	for n := done + 1; ; n++ {
		parts := []transaction{plan(seed, worker, n)}
		acknowledge, early := func() { say(sayAcked, worker) }, func() {}
		switch broken {
		case brokenAck:
			acknowledge, early = early, acknowledge
		case brokenWhole:
			parts = parts[0].halves()
		}
		err := perform(s, accountOf(worker), parts, early)
		if errors.Is(err, store.ErrUnavailable) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("transaction %d of worker %d: %w", n, worker, err)
		}
		acknowledge()
	}
}

// create says what there is of a store, makes it where there is none, and says so.
func create(args []string) error {
	path, broken := args[0], args[1]
	switch err := store.Check(context.Background(), path); {
	case err == nil:
		say(sayWhole)
	case errors.Is(err, fs.ErrNotExist):
		say(sayNone)
	default:
		return err
	}
	say(sayBegin)
	if broken == brokenCreation {
		if err := writeInPlace(path); err != nil {
			return err
		}
		say(sayMade)
		return nil
	}
	s, err := store.Open(context.Background(), optionsAt(path, ""))
	if err != nil {
		return err
	}
	err = s.View(func(v *store.View) error {
		if m := v.Meta(); m.Instance != optionsAt("", "").Instance || m.Created.IsZero() {
			return fmt.Errorf("the store does not know itself: %+v", m)
		}
		return nil
	})
	if err != nil {
		return err
	}
	say(sayMade)
	return s.Close()
}

// writeInPlace is how a store must not be made.
func writeInPlace(path string) error {
	whole := path + ".whole"
	s, err := store.Open(context.Background(), optionsAt(whole, ""))
	if err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	image, err := os.ReadFile(whole)
	if err != nil {
		return err
	}
	return os.WriteFile(path, image, 0o600)
}
