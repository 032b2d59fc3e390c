package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A pipe in the place of a store keeps nobody waiting: who opens one to read would wait for a writer, and hear
// neither its end of time nor an interrupt.
func TestAPipeIsNoStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "scv.db")
	must(t, unix.Mkfifo(path, 0o600))
	t.Cleanup(func() { // lets go of whoever waits after all, so that only the one test fails
		if file, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK, 0); err == nil {
			_ = file.Close()
		}
	})
	pages := func() error { return DumpFile(ctx, path, DumpOptions{}, func(Row) error { return nil }) }
	for name, use := range map[string]func() error{
		"dump":    pages,
		"diff":    func() error { return Diff(ctx, path, path, DumpOptions{}, func(Difference) error { return nil }) },
		"look":    func() error { _, err := Look(path); return err },
		"check":   func() error { return Check(ctx, path) },
		"examine": func() error { _, err := Examine(ctx, path, true); return err },
		"open":    func() error { _, err := Open(ctx, optionsAt(path)); return err },
		"copy": func() error {
			return Copy(ctx, path, path+".copy", func(context.Context, string) error { return nil })
		},
		"restore": func() error { return copyBytes(ctx, path, path+".new") },
	} {
		t.Run(name, func(t *testing.T) {
			said := make(chan error, 1)
			go func() { said <- use() }()
			select {
			case err := <-said:
				if name != "restore" && (err == nil || !strings.Contains(err.Error(), "it is not a file")) {
					t.Errorf("got %v", err)
				}
			case <-time.After(patience):
				t.Errorf("it waits for a writer")
			}
		})
	}
}

// A dump of a file that is all holes, or of a very large damaged one, ends when it is told to.
func TestDumpOfAVastFileStops(t *testing.T) {
	path := filepath.Join(t.TempDir(), "scv.db")
	must(t, os.WriteFile(path, nil, 0o600))
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Skip("nothing was tested: no file of 1 TiB here: ", err)
	}
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	said := make(chan error, 1)
	go func() {
		said <- DumpFile(short, path, DumpOptions{}, func(Row) error { return nil })
	}()
	select {
	case err := <-said:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	case <-time.After(patience):
		t.Error("it goes on")
	}
}
