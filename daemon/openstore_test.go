package daemon

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"scv/daemon/process"
	"scv/daemon/restart"
	"scv/internal/clock"
	"scv/internal/layout"
	"scv/store"
)

// openOnly opens the store of a home as a start does, and closes it as a stop does.
func openOnly(t *testing.T, home string, fresh bool, use func(*Daemon)) (log string, err error) {
	t.Helper()
	var lines strings.Builder
	d := newDaemon(Options{
		Home: home, Version: "test", inProcess: true, Fresh: fresh, Getenv: func(string) string { return "" },
		Log: slog.New(slog.NewTextHandler(&lines, nil)), clock: clock.System{}, Start: &restart.Start{},
	}, process.NewTable())
	defer func() { d.rooms.stop(d.log); log = lines.String() }()
	if err := d.openHome(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := d.openStore(t.Context()); err != nil {
		return "", err
	}
	use(d)
	return "", nil
}

func nothing(*Daemon) {}

// Short files are what power lost during the creation leaves: no loss where there was nothing, and a
// loss to be told of where there was.
func TestShortStores(t *testing.T) {
	whole := newHome(t, "")
	if _, err := openOnly(t, whole, false, nothing); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(whole, layout.Store))
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{0, 1, 4096, 6144, 8191, 16383} {
		for _, lived := range []bool{false, true} {
			home := newHome(t, "")
			path := filepath.Join(home, layout.Store)
			if lived {
				if _, err := openOnly(t, home, false, nothing); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(path, raw[:size], 0o600); err != nil {
				t.Fatal(err)
			}
			log, err := openOnly(t, home, false, nothing)
			switch {
			case lived && !errors.Is(err, store.ErrDamaged):
				t.Errorf("%d bytes of an earlier life: %v", size, err)
			case !lived && (err != nil || !strings.Contains(log, "made anew")):
				t.Errorf("%d bytes of none: %v, %s", size, err, log)
			}
			if !lived {
				continue
			}
			if after, _ := os.ReadFile(path); len(after) != size {
				t.Errorf("%d bytes of an earlier life became %d", size, len(after))
			}
			if _, err := openOnly(t, home, true, nothing); err != nil {
				t.Errorf("%d bytes, asked to begin afresh: %v", size, err)
			}
		}
	}
}

func TestLostStoreIsNoNewHome(t *testing.T) {
	home := newHome(t, "")
	if _, err := openOnly(t, home, false, nothing); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(home, layout.Store)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	_, err := openOnly(t, home, false, nothing)
	if err == nil || errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), "store restore") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a store was made: %v", err)
	}
	if _, err := openOnly(t, home, true, nothing); err != nil {
		t.Errorf("asked to begin afresh: %v", err)
	}
}

// A damaged store that one asked to give up is kept, and a sound one is never given up.
func TestBeginAfreshKeepsTheDamagedStore(t *testing.T) {
	home := newHome(t, "")
	note := func(d *Daemon) {
		if err := d.makeDefaultLocal(context.Background()); err != nil {
			t.Error(err)
		}
	}
	if _, err := openOnly(t, home, false, note); err != nil {
		t.Fatal(err)
	}
	known := false
	if _, err := openOnly(t, home, true, func(d *Daemon) { known = len(d.accountRows()) == 1 }); err != nil || !known {
		t.Fatalf("a sound store was given up: %v", err)
	}
	path := filepath.Join(home, layout.Store)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	clear(raw)
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openOnly(t, home, false, nothing); !errors.Is(err, store.ErrDamaged) {
		t.Fatalf("got %v", err)
	}
	if _, err := openOnly(t, home, true, nothing); err != nil {
		t.Fatal(err)
	}
	if kept, _ := filepath.Glob(path + ".damaged-*"); len(kept) != 1 {
		t.Errorf("kept: %v", kept)
	}
}

// A copy is kept when the newest is an hour old and something was written since.
func TestLastGoodCopies(t *testing.T) {
	home := newHome(t, "")
	_, err := openOnly(t, home, false, func(d *Daemon) {
		folder := d.home.join(layout.Backups)
		count := func() int {
			list, err := store.AutoBackups(folder)
			if err != nil {
				t.Fatal(err)
			}
			return len(list)
		}
		age := func(by time.Duration) {
			list, err := store.AutoBackups(folder)
			if err != nil {
				t.Fatal(err)
			}
			for n, b := range list { // other names too: a second has room for one
				then := b.Made.Add(-by)
				if err := errors.Join(os.Chtimes(b.Path, then, then), os.Rename(b.Path, filepath.Join(folder, "auto-"+newID()+".db"))); err != nil {
					t.Fatal(n, err)
				}
			}
		}
		d.backUp(t.Context())
		d.backUp(t.Context())
		if n := count(); n != 1 {
			t.Fatalf("%d copies at once", n)
		}
		for range 5 {
			age(61 * time.Minute)
			d.backUp(t.Context())
		}
		if n := count(); n != 3 {
			t.Errorf("%d copies after 5 hours", n)
		}
		age(61 * time.Minute)
		list, _ := store.AutoBackups(folder)
		before := list[0].Made.Add(-time.Minute)
		if err := os.Chtimes(d.store.Path(), before, before); err != nil {
			t.Fatal(err)
		}
		d.backUp(t.Context())
		if after, _ := store.AutoBackups(folder); after[0].Path != list[0].Path {
			t.Error("a copy was made of what did not change")
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}
