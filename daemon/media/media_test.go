package media

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"scv/daemon/channel"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var chat = Chat{"feishu:default", "ou_owner"}

const png = "\x89PNG\r\n\x1a\n"

// big takes any file of the largest size.
func big(channel.FileKind) int64 { return MaxOutBytes }

func newFolders(t *testing.T) Folders {
	t.Helper()
	f := In(filepath.Join(t.TempDir(), "odd [home]")) // what a pattern would trip over
	must(t, os.Mkdir(filepath.Dir(f.root), 0o700))
	must(t, f.Open(chat))
	return f
}

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

func (f Folders) put(t *testing.T, name, content string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(f.Outbox(chat), name), []byte(content), 0o644))
}

func TestSafeName(t *testing.T) {
	for name, want := range map[string]string{
		"":                                      "",
		"a.pdf":                                 "a.pdf",
		"../../etc/passwd":                      "passwd",
		`C:\dir\a.doc`:                          "a.doc",
		"..":                                    "",
		" ..hidden ":                            "hidden",
		"a\nb\x00c\x1b[2J.txt":                  "a_b_c_[2J.txt",
		"ab\u202efdp.exe":                       "ab_fdp.exe",
		"a\xffb":                                "a_b",
		"面.png":                                 "面.png",
		"/":                                     "",
		strings.Repeat("x", maxName-4) + ".pdf": strings.Repeat("x", maxName-4) + ".pdf",
		strings.Repeat("x", maxName-3) + ".pdf": strings.Repeat("x", maxName-4) + ".pdf",
		strings.Repeat("面", maxName):            strings.Repeat("面", maxName/3),
	} {
		if got := SafeName(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

func FuzzSafeName(f *testing.F) {
	for _, seed := range []string{"../x", "a\x00b", ".", "\u202e", "x/\\"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		safe := SafeName(name)
		if safe != "" && (len(safe) > maxName || !utf8.ValidString(safe) || !element(safe) || filepath.Base(safe) != safe) {
			t.Errorf("%q is %q", name, safe)
		}
	})
}

func TestNamesAreUnique(t *testing.T) {
	long := strings.Repeat("n", maxName)
	names := Names([]channel.File{
		{Kind: channel.Image}, {Kind: channel.Image}, {Name: "A.pdf"}, {Name: "a.pdf"}, {Name: "x/a.pdf"}, {Name: long}, {Name: long}, {},
	})
	want := []string{"image", "image-2", "A.pdf", "a-2.pdf", "a-3.pdf", long, long[:maxName-2] + "-2", "file"}
	if !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
}

// A file appears whole, under a name that says what it is, for us alone; and is not fetched twice.
func TestKeep(t *testing.T) {
	f := newFolders(t)
	path, err := f.Keep(chat, "m1", "image", 100, text(png))
	must(t, err)
	if filepath.Base(path) != "image.png" || !strings.HasPrefix(path, f.Received(chat)) {
		t.Errorf("it is %s", path)
	}
	for _, p := range []string{path, filepath.Dir(path), f.Received(chat), f.root} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v: %v", p, info.Mode(), err)
		}
	}
	again, err := f.Keep(chat, "m1", "image", 100, func(io.Writer) error { t.Error("fetched twice"); return nil })
	if err != nil || again != path {
		t.Errorf("again %s: %v", again, err)
	}
	other, err := f.Keep(chat, "m2", "image", 100, text("plain"))
	if err != nil || other == path || filepath.Ext(other) != "" {
		t.Errorf("another message's is %s: %v", other, err)
	}
}

// The limit at -1, 0 and +1, however the platform's side takes the end of it.
func TestKeepIsCapped(t *testing.T) {
	f := newFolders(t)
	const limit = 10
	for size, fits := range map[int]bool{limit - 1: true, limit: true, limit + 1: false} {
		for name, end := range map[string]func(error) error{
			"told":  func(err error) error { return err },
			"deaf":  func(error) error { return nil },
			"other": func(error) error { return io.ErrClosedPipe },
		} {
			if fits && name == "other" {
				continue
			}
			id := fmt.Sprint(size, name)
			path, err := f.Keep(chat, id, "a.txt", limit, func(w io.Writer) error {
				for range size {
					if _, err := w.Write([]byte("x")); err != nil {
						return end(err)
					}
				}
				return nil
			})
			if fits && (err != nil || len(read(t, path)) != size) || !fits && !errors.Is(err, channel.ErrTooLarge) {
				t.Errorf("%s: %s, %v", id, path, err)
			}
			if left, _ := os.ReadDir(filepath.Join(f.Received(chat), hashed(id))); !fits && len(left) != 0 {
				t.Errorf("%s: %v is left", id, left)
			}
		}
	}
}

// A fetch that fails leaves nothing, and what a killed one left is in nobody's way.
func TestKeepAfterAFailure(t *testing.T) {
	f := newFolders(t)
	broken := errors.New("the line is dead")
	_, err := f.Keep(chat, "m", "a.txt", 100, func(w io.Writer) error { _, _ = w.Write([]byte("half")); return broken })
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	folder := filepath.Join(f.Received(chat), hashed("m"))
	elsewhere := filepath.Join(t.TempDir(), "victim")
	must(t, os.WriteFile(elsewhere, []byte("mine"), 0o600))
	must(t, os.Symlink(elsewhere, filepath.Join(folder, beside+"a.txt")))
	path, err := f.Keep(chat, "m", "a.txt", 100, text("whole"))
	if err != nil || read(t, path) != "whole" || read(t, elsewhere) != "mine" {
		t.Errorf("%s: %v", path, err)
	}
	if left, _ := os.ReadDir(folder); len(left) != 1 {
		t.Errorf("%v is there", left)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return string(b)
}

// What stood in an outbox before a turn is kept for a while where the agent can be told of it.
func TestSetAside(t *testing.T) {
	f := newFolders(t)
	now := time.Now()
	if path, err := f.SetAside(chat, now); err != nil || path != "" {
		t.Errorf("nothing is at %q: %v", path, err)
	}
	f.put(t, "a", "old")
	path, err := f.SetAside(chat, now)
	must(t, err)
	must(t, f.Open(chat))
	if entries, _ := os.ReadDir(f.Outbox(chat)); len(entries) != 0 || read(t, filepath.Join(path, "a")) != "old" {
		t.Errorf("outbox %v", entries)
	}
	must(t, f.Sweep(now))
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	must(t, f.Sweep(now.Add(time.Second)))
	if _, err := os.Stat(path); err == nil {
		t.Error("it stays for ever")
	}
}

// Age at -1, 0 and +1.
func TestSweep(t *testing.T) {
	f := newFolders(t)
	limit := time.Now().Truncate(time.Second)
	for n := -1; n <= 1; n++ {
		path, err := f.Keep(chat, fmt.Sprint("m", n), "a", 10, text("x"))
		must(t, err)
		at := limit.Add(time.Duration(n) * time.Second)
		must(t, os.Chtimes(path, at, at))
		must(t, os.Chtimes(filepath.Dir(path), at, at))
	}
	must(t, f.Sweep(limit))
	must(t, f.Sweep(limit)) // a folder gets younger as it loses a file
	var left []string
	for n := -1; n <= 1; n++ {
		if fetched(filepath.Join(f.Received(chat), hashed(fmt.Sprint("m", n))), "a") != "" {
			left = append(left, fmt.Sprint(n))
		}
	}
	if !slices.Equal(left, []string{"0", "1"}) {
		t.Errorf("left %v", left)
	}
	must(t, In(t.TempDir()).Sweep(limit)) // where nothing ever came
}

func TestLeftovers(t *testing.T) {
	f := newFolders(t)
	path, err := f.Keep(chat, "m", "a", 10, text("x"))
	must(t, err)
	half := filepath.Join(filepath.Dir(path), beside+"b")
	must(t, os.WriteFile(half, nil, 0o600))
	f.put(t, "a", "x")
	for _, answer := range []string{"wanted", "lost"} {
		if files, _ := f.Collect(chat, answer, big); len(files) != 1 {
			t.Fatal("nothing collected")
		}
	}
	must(t, f.Leftovers(func(account, answer string) bool { return account == chat.Account && answer == "wanted" }))
	for p, there := range map[string]bool{
		path: true, half: false, filepath.Join(f.Outbox(chat), "a"): true,
		filepath.Join(f.of(sending, chat.Account), "wanted", "0"): true, filepath.Join(f.of(sending, chat.Account), "lost"): false,
	} {
		if _, err := os.Lstat(p); (err == nil) != there {
			t.Errorf("%s: %v", p, err)
		}
	}
}

func TestForget(t *testing.T) {
	f := newFolders(t)
	other := Chat{"feishu:other", "c"}
	must(t, f.Open(other))
	_, err := f.Keep(chat, "m", "a", 10, text("x"))
	must(t, err)
	f.put(t, "a", "x")
	_, _ = f.Collect(chat, "r", big)
	must(t, f.Forget(chat.Account))
	must(t, f.Forget(chat.Account))
	for _, kind := range []string{came, outbox, left, sending} {
		if _, err := os.Lstat(f.of(kind, chat.Account)); err == nil {
			t.Errorf("%s has files of the account", kind)
		}
	}
	if _, err := os.Lstat(f.Outbox(other)); err != nil {
		t.Error("another account's are gone")
	}
}
