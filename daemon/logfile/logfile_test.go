package logfile_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"scv/daemon/logfile"
)

// open is a log in a folder that does not exist yet.
func open(t *testing.T, max int64) (*logfile.File, string) {
	folder := filepath.Join(t.TempDir(), "log")
	path := filepath.Join(folder, "scv.log")
	f := logfile.Open(folder, path, path+".1", max)
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f, path
}

func write(t *testing.T, f *logfile.File, line string) {
	t.Helper()
	if n, err := f.Write([]byte(line)); n != len(line) || err != nil {
		t.Fatalf("a log line failed: %d, %v", n, err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// Two files, each no larger than the limit, whole lines only, none lost but the oldest.
func TestItStaysBelowTwoFiles(t *testing.T) {
	f, path := open(t, 1000)
	for i := range 500 {
		write(t, f, fmt.Sprintf("line %03d\n", i))
	}
	older, newer := read(t, path+".1"), read(t, path)
	if len(older) > 1000 || len(newer) > 1000 || len(older) < 900 {
		t.Errorf("sizes %d and %d", len(older), len(newer))
	}
	all := strings.Split(strings.TrimSuffix(older+newer, "\n"), "\n")
	for i, line := range all {
		if want := fmt.Sprintf("line %03d", 500-len(all)+i); line != want {
			t.Fatalf("%q, want %q", line, want)
		}
	}
}

func TestOthersMayNotReadIt(t *testing.T) {
	f, path := open(t, 1000)
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("left by somebody\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	write(t, f, "secret\n")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// Whoever removes or moves the folder gets a new one with the next line.
func TestARemovedFolderComesBack(t *testing.T) {
	f, path := open(t, 1000)
	write(t, f, "before\n")
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	write(t, f, "after\n")
	if got := read(t, path); got != "after\n" {
		t.Errorf("the file holds %q", got)
	}
}

// While the place is taken by something else, lines are counted, nothing hangs, and nothing that stands
// there is written to; afterwards the file says how many are missing.
func TestWhatCannotBeWrittenIsCounted(t *testing.T) {
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	for name, take := range map[string]func(path string) error{
		"folder is a file": func(path string) error { return os.WriteFile(filepath.Dir(path), nil, 0o600) },
		"pipe": func(path string) error {
			return firstError(os.Mkdir(filepath.Dir(path), 0o700), unix.Mkfifo(path, 0o600))
		},
		"link": func(path string) error {
			return firstError(os.Mkdir(filepath.Dir(path), 0o700), os.Symlink(elsewhere, path))
		},
	} {
		f, path := open(t, 1000)
		if err := take(path); err != nil {
			t.Fatal(err)
		}
		write(t, f, "one\n")
		write(t, f, "two\n")
		if err := os.RemoveAll(filepath.Dir(path)); err != nil {
			t.Fatal(err)
		}
		write(t, f, "three\n")
		got := read(t, path)
		if !strings.Contains(got, `"msg":"the log could not be written for a while","lines":2}`) || !strings.HasSuffix(got, "\nthree\n") {
			t.Errorf("%s: the file holds %q", name, got)
		}
		if _, err := os.Lstat(elsewhere); err == nil {
			t.Errorf("%s: it was followed", name)
		}
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestALineThatIsTooLongIsLeftOut(t *testing.T) {
	f, path := open(t, 1000)
	write(t, f, "a\n")
	write(t, f, strings.Repeat("x", 2000)+"\n")
	write(t, f, "b\n")
	if got := read(t, path); !strings.Contains(got, `"lines":1}`) || strings.Contains(got, "xx") || !strings.HasSuffix(got, "b\n") {
		t.Errorf("the file holds %q", got)
	}
}

func TestManyWritersMakeWholeLines(t *testing.T) {
	f, path := open(t, 1<<20)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				f.Write([]byte("0123456789\n"))
			}
		})
	}
	all.Wait()
	if got := read(t, path); got != strings.Repeat("0123456789\n", 800) {
		t.Errorf("%d bytes, some of them mixed up", len(got))
	}
}

// Both handlers get what the first one wants, with the same attributes.
func TestBothGetTheSame(t *testing.T) {
	var first, file strings.Builder
	var level slog.LevelVar
	log := slog.New(logfile.Both(slog.NewJSONHandler(&first, &slog.HandlerOptions{Level: &level}), &file)).With("room", "x").WithGroup("g")
	log.Debug("no")
	log.Info("yes", "n", 1)
	level.Set(slog.LevelDebug)
	log.Debug("now", "n", 2)
	if first.String() != file.String() || strings.Count(file.String(), "\n") != 2 || !strings.Contains(file.String(), `"room":"x","g":{"n":2}`) {
		t.Errorf("first %q\nfile %q", first.String(), file.String())
	}
}
