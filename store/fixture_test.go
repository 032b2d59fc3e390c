package store

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var makeFixture = flag.Bool("fixture", false, "make the fixture of a schema that no release has written yet")

const fixture = "../migrations/testdata/schema-1"

// The fixture is a store as the first release wrote it, with a record of every kind. It is made once
// per schema and never again.
func TestStoreOfSchema1IsRead(t *testing.T) {
	if *makeFixture {
		writeFixture(t)
	}
	raw, err := os.ReadFile(fixture + ".db")
	must(t, err)
	path := filepath.Join(t.TempDir(), "scv.db")
	must(t, os.WriteFile(path, raw, 0o600))
	s := openTest(t, optionsAt(path))
	if s.Fresh() {
		t.Error("the fixture was taken for a new store")
	}
	checkFilled(t, s, 0)
	if bad := s.Quarantined(); len(bad) != 1 || bad[0].Reason != "as an example" {
		t.Errorf("quarantine: %+v", bad)
	}
	for _, table := range Schema {
		if count(t, s, table, "") == 0 {
			t.Errorf("the fixture has nothing in %s", table.Name)
		}
	}
	want, err := os.ReadFile(fixture + ".jsonl")
	must(t, err)
	got := dumpLines(t, func(emit func(Row) error) error { return s.Dump(ctx, DumpOptions{Texts: true}, emit) })
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

func writeFixture(t *testing.T) {
	s := newStore(t)
	fillStore(t, s)
	must(t, s.write(ctx, func(x *txn) error {
		return put(x, tableQuarantine, []byte("claims/x"), Quarantined{
			Reason: "as an example", Value: []byte("{"), At: s.clock.Now(),
		})
	}))
	must(t, s.Snapshot(ctx, fixture+".db"))
	lines := dumpLines(t, func(emit func(Row) error) error { return s.Dump(ctx, DumpOptions{Texts: true}, emit) })
	must(t, os.WriteFile(fixture+".jsonl", []byte(lines), 0o644))
}
