package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// bigWrite stores records until the file must grow, or the error that met it.
func bigWrite(s *Store) error {
	for n := range 20 {
		err := s.Deliver(context.Background(), func(d *Delivery) error {
			_, err := d.AddOutbound("local:default", Outbound{Kind: "notice", Text: strings.Repeat("x", 1<<20), ClientID: fmt.Sprint(n)})
			return err
		})
		if err != nil {
			return err
		}
	}
	return errors.New("the disk never filled")
}

// checkLostAndFound is what must hold once the disk refuses: writes say so, reads go on, nothing
// acknowledged is lost, and when the disk takes writes again so does the store.
func checkLostAndFound(t *testing.T, s *Store, mend func()) {
	t.Helper()
	before := view(t, s, (*View).Delegations)
	if len(before) == 0 {
		t.Fatal("nothing to lose")
	}
	for range 3 {
		if err := bigWrite(s); !errors.Is(err, ErrUnavailable) {
			t.Fatalf("got %v", err)
		}
		if rows := view(t, s, (*View).Accounts); len(rows) != 1 || rows[0].Account != testAccount() {
			t.Fatalf("reads do not go on: %+v", rows)
		}
	}
	mend()
	must(t, writePair(s, "after"))
	must(t, s.Check(ctx))
	if after := view(t, s, (*View).Delegations); len(after) != len(before) {
		t.Errorf("%d delegations of %d", len(after), len(before))
	}
	if !view(t, s, func(v *View) bool { return v.SeenMessage("local:default", "after") }) {
		t.Error("the write after it is not there")
	}
}

func TestFileSizeLimit(t *testing.T) {
	s := newStore(t)
	fillStore(t, s)
	var old unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &old))
	limit := old
	limit.Cur = 3 << 20
	must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &limit))
	mend := func() { must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &old)) }
	defer mend()
	checkLostAndFound(t, s, mend)
}

// A failed sync leaves the file handle in doubt: it must not be used for another write.
func TestSuspectHandleIsReplaced(t *testing.T) {
	s := newStore(t)
	fillStore(t, s)
	must(t, s.write(ctx, func(*txn) error { return s.handle.file.Close() })) // as if the device went away
	first := s.handle
	if err := writePair(s, "lost"); !errors.Is(err, ErrUnavailable) {
		t.Fatalf("got %v", err)
	}
	if rows := view(t, s, (*View).Accounts); len(rows) != 1 {
		t.Errorf("reads do not go on: %v", rows)
	}
	must(t, writePair(s, "kept"))
	if s.handle == first {
		t.Error("the handle is still the old one")
	}
	for id, want := range map[string]bool{"lost": false, "kept": true} {
		if got := view(t, s, func(v *View) bool { return v.SeenMessage("local:default", id) }); got != want {
			t.Errorf("%s: %v", id, got)
		}
	}
}

// The file cannot be opened again at once: reads and writes say so until it can.
func TestReopenFailsForAWhile(t *testing.T) {
	s := newStore(t)
	fillStore(t, s)
	must(t, s.write(ctx, func(*txn) error { return s.handle.file.Close() }))
	if err := writePair(s, "lost"); !errors.Is(err, ErrUnavailable) {
		t.Fatalf("got %v", err)
	}
	away := s.path + ".away"
	must(t, os.Rename(s.path, away))
	for range 3 {
		if err := writePair(s, "lost"); !errors.Is(err, ErrUnavailable) {
			t.Fatalf("got %v", err)
		}
		if err := s.View(func(*View) error { return nil }); !errors.Is(err, ErrUnavailable) {
			t.Fatalf("got %v", err)
		}
	}
	must(t, os.Rename(away, s.path))
	must(t, writePair(s, "kept"))
	if n := len(view(t, s, (*View).Accounts)); n != 1 {
		t.Errorf("%d accounts", n)
	}
}

// A commit that panics leaves bbolt holding its locks; the store must not hang on them.
func TestPanicInsideCommit(t *testing.T) {
	s := newStore(t)
	fillStore(t, s)
	err := s.write(ctx, func(x *txn) error {
		x.tx.OnCommit(func() { panic("inside commit") })
		return putJournal("before")(x)
	})
	if !errors.Is(err, ErrUnavailable) {
		t.Fatalf("got %v", err)
	}
	if err := s.View(func(*View) error { return nil }); !errors.Is(err, ErrUnavailable) {
		t.Errorf("a stuck handle was read: %v", err)
	}
	must(t, writePair(s, "after"))
	must(t, s.Check(ctx))
}

// The file can be opened again only to read, as on a disk that was set read-only: reads go on, a write
// says so, and once the file can be written it is.
func TestReopenOnlyForReading(t *testing.T) {
	s := newStore(t)
	fillStore(t, s)
	s.suspect = true // nobody writes now
	if os.Getuid() == 0 {
		t.Skip("root may write any file: cmd/scv TestUnwritableStore shows it with an immutable one")
	}
	must(t, os.Chmod(s.path, 0o400))
	for range 3 {
		if err := writePair(s, "lost"); !errors.Is(err, ErrUnavailable) {
			t.Fatalf("got %v", err)
		}
		if n := len(view(t, s, (*View).Accounts)); n != 1 {
			t.Fatalf("%d accounts", n)
		}
	}
	must(t, os.Chmod(s.path, 0o600))
	must(t, writePair(s, "kept"))
}
