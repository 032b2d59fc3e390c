package store

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"
)

var update = flag.Bool("update", false, "write the golden files anew")

func dumpLines(t *testing.T, dump func(func(Row) error) error) string {
	t.Helper()
	var lines strings.Builder
	must(t, dump(func(row Row) error {
		line, err := json.Marshal(row)
		lines.Write(line)
		lines.WriteByte('\n')
		return err
	}))
	return lines.String()
}

func TestDumpIsGolden(t *testing.T) {
	s := newStore(t)
	fillStore(t, s)
	must(t, s.write(ctx, func(x *txn) error { return x.putRaw(tableSeen, accountTextKey(local, "b\x00\xff"), []byte("{")) }))
	live := dumpLines(t, func(emit func(Row) error) error { return s.Dump(ctx, DumpOptions{}, emit) })
	must(t, s.Close())
	offline := dumpLines(t, func(emit func(Row) error) error { return DumpFile(ctx, s.Path(), DumpOptions{}, emit) })
	if diff := cmp.Diff(live, offline); diff != "" {
		t.Errorf("live and offline differ: %s", diff)
	}
	compareGolden(t, "dump.jsonl", offline)
	edit(t, s.Path(), func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte("seen")).Delete(accountTextKey(local, "b\x00\xff"))
	})
}

func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		must(t, os.MkdirAll("testdata", 0o755))
		must(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

func TestDumpHidesSecrets(t *testing.T) {
	s := newStore(t)
	fillStore(t, s)
	must(t, s.Close())
	edit(t, s.Path(), func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte("claims")).Put(accountSeqKey(local, 9), []byte(`{"v":1,"text":"secret-bad"`))
	})
	for _, opened := range []bool{false, true} { // before and after it went to quarantine
		if opened {
			must(t, openTest(t, optionsAt(s.Path())).Close())
		}
		out := dumpLines(t, func(emit func(Row) error) error { return DumpFile(ctx, s.Path(), DumpOptions{}, emit) })
		if strings.Contains(out, "secret") {
			t.Errorf("a secret is shown:\n%s", out)
		}
		if strings.Count(out, "Deploy?") != 3 {
			t.Errorf("the question is shown %d times, want 3", strings.Count(out, "Deploy?"))
		}
		out = dumpLines(t, func(emit func(Row) error) error { return DumpFile(ctx, s.Path(), DumpOptions{Texts: true}, emit) })
		for _, text := range []string{"secret-claim", "secret-reply", "secret-line", "secret-name.pdf", "secret-plan.txt"} {
			if !strings.Contains(out, text) {
				t.Errorf("%s is not shown though asked for", text)
			}
		}
		if strings.Contains(out, "secret-handle") {
			t.Error("a reply handle is shown")
		}
	}
}

func TestDumpChangesNotAByte(t *testing.T) {
	s := newStore(t)
	fillStore(t, s)
	must(t, s.Close())
	must(t, os.Chmod(s.Path(), 0o640)) // nor this
	old := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(s.Path(), old, old))
	raw, err := os.ReadFile(s.Path())
	must(t, err)
	before, err := os.Stat(s.Path())
	must(t, err)
	must(t, DumpFile(ctx, s.Path(), DumpOptions{}, func(Row) error { return nil }))
	must(t, Check(ctx, s.Path()))
	after, err := os.Stat(s.Path())
	must(t, err)
	now, err := os.ReadFile(s.Path())
	must(t, err)
	if string(raw) != string(now) || !after.ModTime().Equal(before.ModTime()) || after.Mode() != before.Mode() {
		t.Errorf("changed: %v %v, was %v %v", after.ModTime(), after.Mode(), before.ModTime(), before.Mode())
	}
	entries, err := os.ReadDir(filepath.Dir(s.Path()))
	must(t, err)
	if len(entries) != 1 {
		t.Errorf("left beside it: %v", entries)
	}
}

// More rows than one page holds, and a reader that is slower than the writers.
func TestDumpOfALiveStoreHoldsNobodyUp(t *testing.T) {
	s := newStore(t)
	inBulk(t, s, 3*dumpPage+7, func(x *txn, i int) error { return x.addJournal("test", "test", "x", nil) })
	rows := 0
	must(t, s.Dump(ctx, DumpOptions{}, func(row Row) error {
		if row.Bucket == "journal" {
			rows++
			if rows%300 == 0 { // would deadlock were a read open now and the file had to grow
				return bulkOf(s, 1<<20)
			}
		}
		return nil
	}))
	if rows != 3*dumpPage+7 {
		t.Errorf("%d rows", rows)
	}
}

func bulkOf(s *Store, bytes int) error {
	return s.Deliver(ctx, func(d *Delivery) error {
		_, err := d.PutClaim(local, Claim{Text: strings.Repeat("x", bytes)})
		return err
	})
}

func TestDumpStops(t *testing.T) {
	s := newStore(t)
	fillStore(t, s)
	full := errors.New("pipe closed")
	if err := s.Dump(ctx, DumpOptions{}, func(Row) error { return full }); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

func TestDumpOfADamagedFileShowsTheRest(t *testing.T) {
	s := newStore(t)
	fillStore(t, s)
	must(t, s.Deliver(ctx, func(d *Delivery) error { // small buckets lie in one page together
		for i := range 100 {
			if err := d.MarkSeen(local, fmt.Sprint("more-", i)); err != nil {
				return err
			}
		}
		return nil
	}))
	snapshot := filepath.Join(t.TempDir(), "copy.db")
	must(t, s.Snapshot(ctx, snapshot))
	raw, err := os.ReadFile(snapshot)
	must(t, err)
	page := os.Getpagesize()
	partial := 0
	for i := 4; i < len(raw)/page; i++ {
		damaged := append([]byte(nil), raw...)
		clear(damaged[i*page : (i+1)*page])
		must(t, os.WriteFile(snapshot, damaged, 0o600))
		rows := 0
		err := DumpFile(ctx, snapshot, DumpOptions{}, func(Row) error { rows++; return nil })
		if err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("page %d: %v", i, err)
		}
		if err != nil && rows > 0 {
			partial++
		}
	}
	if partial == 0 {
		t.Error("no dump was partial: the test shows nothing")
	}
}

func TestSnapshotIsWholeAndConsistent(t *testing.T) {
	s := newStore(t)
	fillStore(t, s)
	stop, stopped := make(chan bool), make(chan error, 1)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
			if err := writePair(s, strings.Repeat("x", n%50)+"id"); err != nil {
				stopped <- err
				return
			}
		}
	}()
	dir := t.TempDir()
	for range 10 {
		path := filepath.Join(dir, "copy.db") // replaced each time
		must(t, s.Snapshot(ctx, path))
		must(t, Check(ctx, path))
		copied := openTest(t, optionsAt(path))
		must(t, copied.read(func(x *txn) error {
			for key := range ascend[Seen](x, tableSeen, accountPrefix(local)) {
				_, id, _ := splitAccount(key)
				if _, ok := get[Conversation](x, tableConversations, key); !ok && id != "m0" {
					t.Errorf("half of the pair %q", id)
				}
			}
			return nil
		}))
		must(t, copied.Close())
	}
	close(stop)
	must(t, <-stopped)
	left, _ := filepath.Glob(filepath.Join(dir, "*"))
	if hidden, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) != 1 || len(hidden) > 0 {
		t.Errorf("left: %v %v", left, hidden)
	}
}

func TestSnapshotThatFailsLeavesNothing(t *testing.T) {
	s := newStore(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "copy.db")
	must(t, os.WriteFile(path, []byte("old"), 0o600))
	ended, cancel := contextEnded()
	defer cancel()
	if err := s.Snapshot(ended, path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
	if raw, _ := os.ReadFile(path); string(raw) != "old" {
		t.Errorf("the old copy is %q", raw)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left: %v", entries)
	}
}

func TestCheckFindsDamage(t *testing.T) {
	for name, damage := range map[string]func(*bbolt.Tx) error{
		"bad record":     func(tx *bbolt.Tx) error { return tx.Bucket([]byte("accounts")).Put([]byte("a:b"), []byte("{")) },
		"missing bucket": func(tx *bbolt.Tx) error { return tx.DeleteBucket([]byte("seen")) },
		"other schema":   func(tx *bbolt.Tx) error { return tx.Bucket([]byte("meta")).Put([]byte("schema"), []byte("9")) },
		"open and ended": func(tx *bbolt.Tx) error {
			return tx.Bucket([]byte("confirms")).Put([]byte("ba9876543210"), tx.Bucket([]byte("confirms")).Get([]byte("0123456789ab")))
		},
	} {
		s := newStore(t)
		fillStore(t, s)
		must(t, s.Check(ctx))
		copied := filepath.Join(t.TempDir(), "copy.db")
		must(t, s.Snapshot(ctx, copied))
		must(t, Check(ctx, copied))
		edit(t, copied, damage)
		if err := Check(ctx, copied); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
