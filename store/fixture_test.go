package store

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"scv/migrations"
)

var makeFixture = flag.Bool("fixture", false, "make the fixture of a schema that no release has written yet")

const fixtures = "../migrations/testdata/schema-"

// A fixture is a store as a program of that schema wrote it, with a record of every kind. It is made once
// per schema and never again.
func TestStoreOfEverySchemaIsRead(t *testing.T) {
	if *makeFixture {
		writeFixture(t, fixtures+strconv.Itoa(migrations.Newest()))
	}
	for schema := 1; schema <= migrations.Newest(); schema++ {
		t.Run(strconv.Itoa(schema), func(t *testing.T) {
			s := openFixture(t, schema)
			if schema == migrations.Newest() {
				checkFilled(t, s, 0)
				for _, table := range Schema {
					if count(t, s, table, "") == 0 {
						t.Errorf("the fixture has nothing in %s", table.Name)
					}
				}
			}
			if bad := s.Quarantined(); len(bad) != 1 || bad[0].Reason != "as an example" {
				t.Errorf("quarantine: %+v", bad)
			}
			checkDump(t, s, schema)
		})
	}
}

func openFixture(t *testing.T, schema int) *Store {
	t.Helper()
	raw, err := os.ReadFile(fixtures + strconv.Itoa(schema) + ".db")
	must(t, err)
	path := filepath.Join(t.TempDir(), "scv.db")
	must(t, os.WriteFile(path, raw, 0o600))
	s := openTest(t, optionsAt(path))
	if s.Fresh() {
		t.Error("the fixture was taken for a new store")
	}
	return s
}

// checkDump holds every record of a migrated store to what it was: only its schema number is another.
func checkDump(t *testing.T, s *Store, schema int) {
	t.Helper()
	want, err := os.ReadFile(fixtures + strconv.Itoa(schema) + ".jsonl")
	must(t, err)
	number := func(n int) string { return fmt.Sprintf("\"key\":\"schema\",\"value\":%d", n) }
	moved := strings.Replace(string(want), number(schema), number(migrations.Newest()), 1)
	got := dumpLines(t, func(emit func(Row) error) error { return s.Dump(ctx, DumpOptions{Texts: true}, emit) })
	if diff := cmp.Diff(moved, got); diff != "" {
		t.Error(diff)
	}
}

func writeFixture(t *testing.T, path string) {
	t.Helper()
	s := newStore(t)
	fillStore(t, s)
	must(t, s.write(ctx, func(x *txn) error {
		return put(x, tableQuarantine, []byte("claims/x"), Quarantined{
			Reason: "as an example", Value: []byte("{"), At: s.clock.Now(),
		})
	}))
	must(t, s.Snapshot(ctx, path+".db"))
	lines := dumpLines(t, func(emit func(Row) error) error { return s.Dump(ctx, DumpOptions{Texts: true}, emit) })
	must(t, os.WriteFile(path+".jsonl", []byte(lines), 0o644))
}
