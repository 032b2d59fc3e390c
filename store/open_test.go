package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"scv/migrations"
)

func TestOpenAgainIsNotFresh(t *testing.T) {
	s := newStore(t)
	if !s.Fresh() {
		t.Error("a new store is not fresh")
	}
	fillStore(t, s)
	must(t, s.Close())
	again := openTest(t, Options{Path: s.Path(), Clock: newClock(), Release: "0.2.0", Instance: "other"})
	if again.Fresh() {
		t.Error("an old store is fresh")
	}
	want := Meta{Schema: migrations.Newest(), Instance: "8973cbc5", Created: newClock().Now().Wall, Release: "0.1.0"}
	if got := view(t, again, (*View).Meta); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if rows := view(t, again, (*View).Accounts); len(rows) != 1 || rows[0].Account != testAccount() {
		t.Errorf("accounts are %+v", rows)
	}
}

func TestHeldStoreIsRefusedByNameInTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "scv.db")
	holder := holdElsewhere(t, path)
	must(t, holder.Process.Signal(unix.SIGSTOP)) // hung, not only busy
	pid := fmt.Sprintf("process %d", holder.Process.Pid)
	for name, open := range map[string]func() error{
		"open":  func() error { _, err := Open(ctx, optionsAt(path)); return err },
		"dump":  func() error { return DumpFile(ctx, path, DumpOptions{}, func(Row) error { return nil }) },
		"check": func() error { return Check(ctx, path) },
		"cancelled": func() error {
			short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
			defer cancel()
			_, err := Open(short, optionsAt(path))
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the context did not end the wait: %v", err)
			}
			return err
		},
	} {
		begin := time.Now()
		err := open()
		if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), pid) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(begin); took > 3*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
}

func TestLockIsFreeAfterKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "scv.db")
	holder := holdElsewhere(t, path)
	must(t, holder.Process.Kill())
	_ = holder.Wait()
	begin := time.Now()
	openTest(t, optionsAt(path))
	if took := time.Since(begin); took > time.Second {
		t.Errorf("took %v", took)
	}
}

func TestFilesThatAreNoStore(t *testing.T) {
	snapshot := filepath.Join(t.TempDir(), "copy.db") // has no room to spare at its end
	must(t, newStore(t).Snapshot(ctx, snapshot))
	raw, err := os.ReadFile(snapshot)
	must(t, err)
	for name, content := range map[string][]byte{
		"zero bytes":      {},
		"one byte":        raw[:1],
		"one page":        raw[:4096],
		"6144":            raw[:6144],
		"8191":            raw[:8191],
		"two pages":       raw[:8192],
		"half":            raw[:len(raw)/2],
		"last byte gone":  raw[:len(raw)-1],
		"text":            []byte(strings.Repeat("this is no store\n", 5000)),
		"zeros":           make([]byte, 65536),
		"both metas gone": append(make([]byte, 8192), raw[8192:]...),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "scv.db")
			must(t, os.WriteFile(path, content, 0o600))
			for _, open := range []func() error{
				func() error { _, err := Open(ctx, optionsAt(path)); return err },
				func() error { return DumpFile(ctx, path, DumpOptions{}, func(Row) error { return nil }) },
			} {
				if err := open(); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), path) {
					t.Errorf("got %v", err)
				}
			}
			if after, _ := os.ReadFile(path); string(after) != string(content) {
				t.Error("the file was changed")
			}
		})
	}
}

func TestOpenNeedsItsFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gone", "scv.db")
	if _, err := Open(ctx, optionsAt(path)); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
	if err := DumpFile(ctx, path, DumpOptions{}, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("dump: %v", err)
	}
}

func TestCreationLosesToAStoreMadeMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "scv.db")
	o := optionsAt(path)
	o.step = func(name string) {
		if name != "synced" {
			return
		}
		other := optionsAt(filepath.Join(filepath.Dir(path), "other.db"))
		other.Instance = "other"
		s, err := Open(ctx, other)
		must(t, err)
		must(t, s.Close())
		must(t, os.Rename(other.Path, path))
	}
	s := openTest(t, o)
	if got := view(t, s, (*View).Meta).Instance; got != "other" || s.Fresh() {
		t.Errorf("replaced a store that was there: instance %q, fresh %v", got, s.Fresh())
	}
}

func TestNewerStoreIsRefusedInWords(t *testing.T) {
	s := newStore(t)
	must(t, s.Close())
	edit(t, s.Path(), func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte("meta")).Put([]byte("schema"), []byte("7"))
	})
	_, err := Open(ctx, optionsAt(s.Path()))
	var newer *migrations.NewerError
	if !errors.As(err, &newer) || newer.Store != 7 || newer.Program != migrations.Newest() {
		t.Errorf("got %v", err)
	}
	edit(t, s.Path(), func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte("meta")).Put([]byte("schema"), []byte(strconv.Itoa(migrations.Newest())))
	})
}

func TestLostBucketIsMadeAgain(t *testing.T) {
	s := newStore(t)
	fillStore(t, s)
	must(t, s.Close())
	edit(t, s.Path(), func(tx *bbolt.Tx) error { return tx.DeleteBucket([]byte("claims")) })
	again := openTest(t, optionsAt(s.Path()))
	if n := len(view(t, again, (*View).Accounts)); n != 1 {
		t.Errorf("%d accounts", n)
	}
	must(t, again.Deliver(ctx, func(d *Delivery) error {
		_, err := d.PutClaim("local:default", Claim{MessageID: "m"})
		return err
	}))
}

// edit changes a closed store behind its back.
func edit(t testing.TB, path string, fn func(*bbolt.Tx) error) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second})
	must(t, err)
	must(t, errors.Join(db.Update(fn), db.Close()))
}

// Each page in turn is zeroed in a copy; a child opens, reads and writes them all. It may refuse one or
// go on with it, but not die.
func TestZeroedPagesKillNobody(t *testing.T) {
	s := newStore(t)
	fillStore(t, s)
	must(t, s.Deliver(ctx, func(d *Delivery) error {
		for i := range 300 {
			if err := d.PutConversation("local:default", fmt.Sprint(i), Conversation{Agent: "a"}); err != nil {
				return err
			}
		}
		return nil
	}))
	snapshot := filepath.Join(t.TempDir(), "copy.db")
	must(t, s.Snapshot(ctx, snapshot))
	raw, err := os.ReadFile(snapshot)
	must(t, err)
	dir, page := t.TempDir(), os.Getpagesize()
	pages := len(raw) / page
	for i := range pages {
		damaged := append([]byte(nil), raw...)
		clear(damaged[i*page : (i+1)*page])
		must(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("page-%04d.db", i)), damaged, 0o600))
	}
	out, err := child(t, "look", dir).Output()
	answers := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(answers) != pages {
		t.Fatalf("died at page %d of %d: %v", len(answers), pages, err)
	}
	opened := 0
	for i, answer := range answers {
		name := fmt.Sprintf("page-%04d.db", i)
		if answer == "opened "+name {
			opened++
		} else if !strings.Contains(answer, name) || !strings.Contains(answer, ErrDamaged.Error()) {
			t.Errorf("page %d: %s", i, answer)
		}
	}
	if opened == 0 || opened == pages {
		t.Errorf("%d of %d opened: the test shows nothing", opened, pages)
	}
}
