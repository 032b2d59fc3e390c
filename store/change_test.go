package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"scv/migrations"
)

func toolAt(path string) Tool {
	return Tool{
		Path: path, Lock: filepath.Join(filepath.Dir(path), "daemon.lock"), PID: os.Getpid(), At: newClock().Now().Wall,
		Log: slog.New(slog.DiscardHandler), Verify: checkPagesOf,
	}
}

// checkPagesOf is the look that the hand does in a process of its own.
func checkPagesOf(ctx context.Context, path string) error {
	report, err := Examine(ctx, path, true)
	return errors.Join(err, report.Err())
}

// changes are the tools, each on a store at path with a copy of an older one beside it.
var changes = map[string]func(Tool) (Changed, error){
	"restore": func(t Tool) (Changed, error) { return t.Restore(ctx, filepath.Join(filepath.Dir(t.Path), "older.db")) },
	"compact": func(t Tool) (Changed, error) { return t.Compact(ctx) },
	"migrate": func(t Tool) (Changed, error) { return t.Migrate(ctx) },
}

// storeForTool makes a store with much that is free and a copy from before. For a migration it has no
// schema yet.
func storeForTool(t *testing.T, what string) (path string) {
	path = filepath.Join(t.TempDir(), "scv.db")
	if what == "migrate" {
		db, err := openOwn(path)
		must(t, err)
		must(t, db.Close())
		return path
	}
	s := openTest(t, quickOptions(path))
	fillStore(t, s)
	must(t, s.Snapshot(ctx, filepath.Join(filepath.Dir(path), "older.db")))
	for n := range 50 {
		must(t, writePair(s, fmt.Sprint(n)))
	}
	must(t, s.Deliver(ctx, func(d *Delivery) error {
		_, err := d.AddOutbound(local, Outbound{Kind: "notice", Text: strings.Repeat("x", 1<<20), ClientID: "big"})
		return err
	}))
	must(t, s.Deliver(ctx, func(d *Delivery) error {
		for _, row := range d.Outbox(local, 100) {
			if err := d.DeleteOutbound(local, row.Seq); err != nil {
				return err
			}
		}
		return nil
	}))
	must(t, s.Close())
	return path
}

// lines is a whole store as text, "" for one without a schema.
func lines(t *testing.T, path string) string {
	return dumpLines(t, func(emit func(Row) error) error { return DumpFile(ctx, path, DumpOptions{Texts: true}, emit) })
}

func TestToolsKeepTheOldFile(t *testing.T) {
	for what, change := range changes {
		path := storeForTool(t, what)
		before := lines(t, path)
		done, err := change(toolAt(path))
		must(t, err)
		if lines(t, done.Kept) != before {
			t.Errorf("%s: the old file is not what it was", what)
		}
		want := before
		switch what {
		case "restore":
			want = lines(t, filepath.Join(filepath.Dir(path), "older.db"))
		case "migrate":
			want = lines(t, path)
			if done.From != 0 || done.To != migrations.Newest() || !strings.Contains(want, `"schema"`) {
				t.Errorf("migrated from %d to %d: %s", done.From, done.To, want)
			}
		}
		if lines(t, path) != want {
			t.Errorf("%s: got %s", what, lines(t, path))
		}
		if what == "compact" && done.After >= done.Before-1<<20 {
			t.Errorf("%d bytes became %d", done.Before, done.After)
		}
		checkPrivate(t, path)
		if again, err := change(toolAt(path)); err != nil || what == "migrate" && again.Kept != "" {
			t.Errorf("%s again: %+v, %v", what, again, err)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) > 0 {
			t.Errorf("%s left %v", what, left)
		}
	}
}

func TestCompactKeepsSequences(t *testing.T) {
	path := storeForTool(t, "compact")
	_, err := toolAt(path).Compact(ctx)
	must(t, err)
	s := openTest(t, optionsAt(path))
	must(t, s.Deliver(ctx, func(d *Delivery) error {
		seq, err := d.AddOutbound(local, Outbound{Kind: "notice", ClientID: "after"})
		if seq != 4 { // three were there, and are gone
			t.Errorf("the next sequence is %d: one is used twice", seq)
		}
		return err
	}))
}

// A tool that is killed at any moment leaves the old store or the new one, and runs again.
func TestToolsKilledAtEveryStep(t *testing.T) {
	for what, change := range changes {
		for _, step := range []string{"begun", "filled", "verified", "kept", "renamed"} {
			path := storeForTool(t, what)
			before := lines(t, path)
			if err := child(t, "change", path, dieAtEnv+"="+step, "SCV_STORE_TEST_WHAT="+what).Run(); err == nil {
				t.Fatalf("%s at %q: the child lived", what, step)
			}
			must(t, checkPagesOf(ctx, path))
			if replaced := lines(t, path) != before; step != "renamed" && replaced {
				t.Errorf("%s killed at %q: the store is another", what, step)
			}
			_, err := change(toolAt(path))
			must(t, err)
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) > 0 {
				t.Errorf("%s left %v", what, left)
			}
		}
	}
}

func childChange(path string) error {
	tool := toolAt(path)
	tool.step = func(name string) {
		if name == os.Getenv(dieAtEnv) {
			_ = unix.Kill(os.Getpid(), unix.SIGKILL)
			select {}
		}
	}
	_, err := changes[os.Getenv("SCV_STORE_TEST_WHAT")](tool)
	return err
}

func TestToolsRefuseBesideTheHolderOfTheHome(t *testing.T) {
	for what, change := range changes {
		path := storeForTool(t, what)
		before, err := os.ReadFile(path)
		must(t, err)
		release, err := toolAt(path).lockHome()
		must(t, err)
		if _, err := change(toolAt(path)); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
			t.Errorf("%s: %v", what, err)
		}
		release()
		if after, _ := os.ReadFile(path); string(after) != string(before) {
			t.Errorf("%s changed the store", what)
		}
	}
}

func TestToolsChangeNothingThatIsDamaged(t *testing.T) {
	path := storeForTool(t, "restore")
	older := filepath.Join(filepath.Dir(path), "older.db")
	must(t, os.WriteFile(older, make([]byte, 1<<16), 0o600))
	before := lines(t, path)
	if _, err := changes["restore"](toolAt(path)); !errors.Is(err, ErrDamaged) {
		t.Errorf("restore of a damaged copy: %v", err)
	}
	if lines(t, path) != before {
		t.Error("the store is another")
	}
	edit(t, path, func(tx *bbolt.Tx) error { return tx.Bucket([]byte("meta")).Put([]byte("schema"), []byte("9")) })
	var newer *migrations.NewerError
	if _, err := changes["migrate"](toolAt(path)); !errors.As(err, &newer) {
		t.Errorf("migrate of a newer one: %v", err)
	}
	edit(t, path, func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte("meta")).Put([]byte("schema"), []byte(strconv.Itoa(migrations.Newest())))
	})
}

func TestDiffOfTwoStores(t *testing.T) {
	path := storeForTool(t, "restore")
	older := filepath.Join(filepath.Dir(path), "older.db")
	count := func(before, after string) (added, gone, changed int) {
		must(t, Diff(ctx, before, after, DumpOptions{}, func(d Difference) error {
			switch {
			case d.Before == nil:
				added++
			case d.After == nil:
				gone++
			default:
				changed++
			}
			return nil
		}))
		return added, gone, changed
	}
	if added, gone, changed := count(older, older); added+gone+changed != 0 {
		t.Errorf("a store differs from itself: %d, %d, %d", added, gone, changed)
	}
	if added, gone, changed := count(older, path); added != 100 || gone != 2 || changed != 0 {
		t.Errorf("%d added, %d gone, %d changed", added, gone, changed)
	}
	if added, gone, _ := count(path, older); added != 2 || gone != 100 {
		t.Errorf("the other way %d added, %d gone", added, gone)
	}
	var bad *FileError
	err := Diff(ctx, older, path+"x", DumpOptions{}, func(Difference) error { return nil })
	if !errors.As(err, &bad) || bad.Path != path+"x" || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
