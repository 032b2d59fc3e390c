package migrations

import (
	"bufio"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

const (
	childPath = "MIGRATIONS_TEST_PATH"   // makes the test binary migrate this file and die on the way
	childDie  = "MIGRATIONS_TEST_DIE_AT" // where
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childPath); path != "" {
		if err := migrateAndDie(path, os.Getenv(childDie)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func open(t testing.TB, path string) *bbolt.DB {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: 5 * time.Second})
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func newDB(t testing.TB) *bbolt.DB { return open(t, filepath.Join(t.TempDir(), "scv.db")) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func quiet(backup func(int) error) Options {
	return Options{Backup: backup, Log: slog.New(slog.DiscardHandler)}
}

func noBackup(int) error { return errors.New("no backup was asked for") }

func schemaOf(t testing.TB, db *bbolt.DB) (n int) {
	t.Helper()
	must(t, db.View(func(tx *bbolt.Tx) (err error) {
		n, err = Schema(tx)
		return err
	}))
	return n
}

func writesOf(db *bbolt.DB) int64 {
	stats := db.Stats()
	return stats.TxStats.GetWrite()
}

// longer is the past as it may look after two more releases.
var longer = append(append([]step{}, steps...),
	step{to: Newest() + 1, what: "move accounts", apply: func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte("accounts")).Put([]byte("moved"), []byte("2"))
	}},
	step{to: Newest() + 2, what: "drop claims", apply: func(tx *bbolt.Tx) error {
		if string(tx.Bucket([]byte("accounts")).Get([]byte("moved"))) != "2" {
			return errors.New("the step before was not made")
		}
		return tx.DeleteBucket([]byte("claims"))
	}},
)

func TestStepsAreNumberedInOrder(t *testing.T) {
	for i, s := range longer {
		if s.to != i+1 || s.what == "" {
			t.Errorf("step %d is %+v", i, s)
		}
	}
	if Newest() != len(steps) {
		t.Errorf("newest is %d", Newest())
	}
}

func TestFirstSchema(t *testing.T) {
	db := newDB(t)
	from, err := Apply(db, quiet(noBackup))
	if err != nil || from != 0 {
		t.Fatalf("from %d: %v", from, err)
	}
	if n := schemaOf(t, db); n != Newest() {
		t.Errorf("schema is %d", n)
	}
	must(t, db.View(func(tx *bbolt.Tx) error {
		n := 0
		err := tx.ForEach(func([]byte, *bbolt.Bucket) error { n++; return nil })
		if n != len(schema1)+3 {
			t.Errorf("%d buckets", n)
		}
		return err
	}))
	before := writesOf(db)
	if from, err = Apply(db, quiet(noBackup)); err != nil || from != Newest() {
		t.Errorf("a second time: from %d, %v", from, err)
	}
	if writesOf(db) != before {
		t.Error("a store of the newest schema was written")
	}
}

func TestLaterStepsBackUpOnce(t *testing.T) {
	db := newDB(t)
	_, err := Apply(db, quiet(noBackup))
	must(t, err)
	var backups []int
	backup := func(schema int) error {
		if schemaOf(t, db) != schema {
			t.Errorf("backed up after the change")
		}
		backups = append(backups, schema)
		return nil
	}
	from, err := apply(db, longer, quiet(backup))
	if err != nil || from != Newest() || len(backups) != 1 || backups[0] != Newest() {
		t.Fatalf("from %d, backups %v: %v", from, backups, err)
	}
	if n := schemaOf(t, db); n != Newest()+2 {
		t.Errorf("schema is %d", n)
	}
}

func TestNoBackupNoMigration(t *testing.T) {
	db := newDB(t)
	_, err := Apply(db, quiet(noBackup))
	must(t, err)
	full := errors.New("disk full")
	if _, err := apply(db, longer, quiet(func(int) error { return full })); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	if n := schemaOf(t, db); n != Newest() {
		t.Errorf("schema is %d", n)
	}
}

func TestFailedStepLeavesTheOneBefore(t *testing.T) {
	db := newDB(t)
	broken := errors.New("broken")
	table := append([]step{}, longer...)
	last := len(table) - 1
	table[last].apply = func(tx *bbolt.Tx) error {
		return errors.Join(tx.DeleteBucket([]byte("claims")), broken)
	}
	if _, err := apply(db, table, quiet(noBackup)); !errors.Is(err, broken) || !strings.Contains(err.Error(), fmt.Sprintf("schema %d", table[last].to)) {
		t.Errorf("got %v", err)
	}
	if n := schemaOf(t, db); n != Newest()+1 {
		t.Errorf("schema is %d", n)
	}
	must(t, db.View(func(tx *bbolt.Tx) error {
		if tx.Bucket([]byte("claims")) == nil {
			return errors.New("half a step was kept")
		}
		return nil
	}))
	must(t, func() error { _, err := apply(db, longer, quiet(func(int) error { return nil })); return err }())
}

func TestNewerStoreIsRefused(t *testing.T) {
	db := newDB(t)
	_, err := apply(db, longer, quiet(noBackup))
	must(t, err)
	_, err = Apply(db, quiet(noBackup))
	var newer *NewerError
	if !errors.As(err, &newer) || newer.Store != Newest()+2 || newer.Program != Newest() {
		t.Fatalf("got %v", err)
	}
	for _, word := range []string{fmt.Sprintf("schema %d", Newest()+2), fmt.Sprintf("up to %d", Newest()), "install", "backup"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %q", err, word)
		}
	}
}

func TestSchemaNumberThatIsNone(t *testing.T) {
	for _, value := range []string{"", "x", "0", "-1", "1 ", "99999999999999999999"} {
		db := newDB(t)
		_, err := Apply(db, quiet(noBackup))
		must(t, err)
		must(t, db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(metaBucket).Put(schemaKey, []byte(value)) }))
		if _, err := Apply(db, quiet(noBackup)); err == nil {
			t.Errorf("%q was taken for a schema number", value)
		}
	}
	db := newDB(t)
	must(t, db.Update(func(tx *bbolt.Tx) error { _, err := tx.CreateBucket([]byte("accounts")); return err }))
	if _, err := Apply(db, quiet(noBackup)); err == nil {
		t.Error("a store that lost its schema number was taken for an empty one")
	}
}

// migrateAndDie goes the longer way and kills itself inside, before or after the given steps' commits.
func migrateAndDie(path, at string) error {
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		return err
	}
	die := func(here string) {
		fmt.Println(here)
		if here == at {
			_ = unix.Kill(os.Getpid(), unix.SIGKILL)
			select {}
		}
	}
	table := append([]step{}, longer...)
	for i := range table {
		run := table[i].apply
		table[i].apply = func(tx *bbolt.Tx) error {
			die(fmt.Sprintf("%d begun", table[i].to))
			err := run(tx)
			die(fmt.Sprintf("%d written", table[i].to))
			tx.OnCommit(func() { die(fmt.Sprintf("%d committed", table[i].to)) })
			return err
		}
	}
	_, err = apply(db, table, quiet(func(int) error { die("backed up"); return nil }))
	return errors.Join(err, db.Close())
}

// A kill at any point of a migration, of a store of any schema, leaves the old schema or the new one, whole and
// with every record of before, and the next start goes on.
func TestKillAtEveryStep(t *testing.T) {
	for from := range Newest() + 1 {
		t.Run(fmt.Sprint("from schema ", from), func(t *testing.T) { killAtEveryStep(t, from) })
	}
}

func killAtEveryStep(t *testing.T, from int) {
	points := runChild(t, storeOf(t, from), "")
	begun := 3 * (len(longer) - from)
	if from > 0 {
		begun++ // the backup
	}
	if len(points) != begun {
		t.Fatalf("points are %q", points)
	}
	before := recordsOf(t, open(t, storeOf(t, from)))
	if from > 0 && len(before) < 10 {
		t.Fatalf("only %d records to lose", len(before))
	}
	for _, point := range points {
		path := storeOf(t, from)
		runChild(t, path, point)
		db := open(t, path)
		want := from
		if number, where, stepped := strings.Cut(point, " "); stepped && number != "backed" {
			_, err := fmt.Sscan(number, &want)
			must(t, err)
			if where != "committed" {
				want--
			}
		}
		if n := schemaOf(t, db); n != want {
			t.Errorf("killed at %q: schema %d, want %d", point, n, want)
		}
		if _, err := apply(db, longer[:Newest()], quiet(func(int) error { return nil })); err != nil && want <= Newest() {
			t.Errorf("after a kill at %q: %v", point, err)
		}
		after := recordsOf(t, db)
		for name, value := range before {
			if after[name] != value && want <= Newest() { // the steps that only this test has drop some
				t.Errorf("killed at %q: %s was %q and is %q", point, name, value, after[name])
			}
		}
		if _, err := apply(db, longer, quiet(func(int) error { return nil })); err != nil {
			t.Errorf("after a kill at %q: %v", point, err)
		}
	}
}

// storeOf is a copy of a store as a release with that schema left it; of schema 0 there is none yet.
func storeOf(t *testing.T, schema int) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "scv.db")
	if schema == 0 {
		return path
	}
	raw, err := os.ReadFile(fmt.Sprintf("testdata/schema-%d.db", schema))
	must(t, err)
	must(t, os.WriteFile(path, raw, 0o600))
	return path
}

// recordsOf is every record but the schema number.
func recordsOf(t *testing.T, db *bbolt.DB) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(bucket []byte, b *bbolt.Bucket) error {
			return b.ForEach(func(key, value []byte) error {
				if string(key) != string(schemaKey) {
					all[string(bucket)+"/"+string(key)] = string(value)
				}
				return nil
			})
		})
	}))
	return all
}

func runChild(t *testing.T, path, at string) (points []string) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childPath+"="+path, childDie+"="+at, "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	for lines := bufio.NewScanner(out); lines.Scan(); {
		points = append(points, lines.Text())
	}
	if err := cmd.Wait(); (err != nil) != (at != "") {
		t.Fatalf("child to die at %q: %v", at, err)
	}
	return points
}
