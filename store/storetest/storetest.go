// Package storetest opens stores for the tests of other rooms and checks each for damage when its test
// has ended. They never sync: what a test of another room shows does not hang on it, and its time would.
// Only tests come in.
package storetest

import (
	"context"
	"path/filepath"
	"testing"

	"scv/internal/clock"
	"scv/store"
)

// Open opens a new store in the test's own folder. It is checked and closed at the end of the test; one
// that the test closed itself is checked as a file.
func Open(t testing.TB, clk clock.Clock) *store.Store {
	t.Helper()
	return OpenAt(t, filepath.Join(t.TempDir(), "scv.db"), clk)
}

// OpenAt is Open for a path that the test opens more than once, as a restart does.
func OpenAt(t testing.TB, path string, clk clock.Clock) *store.Store {
	t.Helper()
	s, err := store.Open(context.Background(), store.Options{
		Path: path, Clock: clk, Release: "0.0.0-test", Instance: "8973cbc5", NoSync: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("store does not close: %v", err)
		}
		if err := store.Check(context.Background(), path); err != nil {
			t.Errorf("store is damaged after the test: %v", err)
		}
	})
	return s
}
