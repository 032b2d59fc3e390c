package media

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"scv/daemon/channel"
)

// What an agent puts there is copied, and what may not be sent is named with the reason. Nothing is waited for.
func TestCollect(t *testing.T) {
	f := newFolders(t)
	secret := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(secret, []byte("key"), 0o600))
	box := f.Outbox(chat)
	f.put(t, "b.txt", "words")
	f.put(t, "a.bin", png+"more")
	f.put(t, "empty", "")
	must(t, os.Symlink(secret, filepath.Join(box, "link")))
	must(t, os.Link(secret, filepath.Join(box, "hard")))
	must(t, unix.Mkfifo(filepath.Join(box, "pipe"), 0o600))
	must(t, os.Mkdir(filepath.Join(box, "folder"), 0o700))
	files, dropped := f.Collect(chat, "r1", big)
	want := []Out{{channel.Image, "a.bin", int64(len(png) + 4), "a.bin"}, {channel.Document, "b.txt", 5, "b.txt"}}
	if !slices.Equal(files, want) {
		t.Errorf("files %+v", files)
	}
	for _, line := range []string{"empty: empty", "link: no ordinary file", "hard: it has another name somewhere else", "pipe: no ordinary file", "folder: a folder"} {
		if !slices.Contains(dropped, line) {
			t.Errorf("%q is missing in %q", line, dropped)
		}
	}
	if len(dropped) != 5 {
		t.Errorf("dropped %q", dropped)
	}
	path, err := f.Copy(chat.Account, "r1", 1, 5)
	must(t, err)
	f.put(t, "b.txt", "other words") // the agent goes on writing
	if read(t, path) != "words" {
		t.Error("the copy is not ours alone")
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v: %v", info.Mode(), err)
	}
	must(t, f.Sent(chat, files))
	if left, _ := os.ReadDir(box); len(left) != 5 {
		t.Errorf("left %v", left)
	}
	must(t, f.Done(chat.Account, "r1"))
	if _, err := f.Copy(chat.Account, "r1", 1, 5); err == nil {
		t.Error("the copy is still there")
	}
}

// Number and size at -1, 0 and +1; what a platform takes counts too.
func TestCollectLimits(t *testing.T) {
	for n := MaxOut - 1; n <= MaxOut+1; n++ {
		f := newFolders(t)
		for i := range n {
			f.put(t, fmt.Sprint("f", i), "x")
		}
		files, dropped := f.Collect(chat, "r", big)
		if len(files) != min(n, MaxOut) || len(dropped) != n-len(files) {
			t.Errorf("%d files: %d, dropped %q", n, len(files), dropped)
		}
	}
	f := newFolders(t)
	for n := int64(MaxOutBytes - 1); n <= MaxOutBytes+1; n++ {
		name := filepath.Join(f.Outbox(chat), fmt.Sprint(n))
		must(t, os.WriteFile(name, nil, 0o600))
		must(t, os.Truncate(name, n))
	}
	if files, dropped := f.Collect(chat, "r", big); len(files) != 2 || len(dropped) != 1 || !strings.HasSuffix(dropped[0], "larger than 25 MiB") {
		t.Errorf("%+v, dropped %q", files, dropped)
	}
	f = newFolders(t)
	for _, content := range []string{png, png + "1", "word", "words: too many"} {
		f.put(t, content[1:4]+fmt.Sprint(len(content)), content)
	}
	files, dropped := f.Collect(chat, "r", func(kind channel.FileKind) int64 {
		return map[channel.FileKind]int64{channel.Image: int64(len(png)), channel.Document: 4}[kind]
	})
	if len(files) != 2 || len(dropped) != 2 {
		t.Errorf("%+v, dropped %q", files, dropped)
	}
}

// A try after a crash finds the outbox as it was, and its copies in the way of nothing.
func TestCollectAgain(t *testing.T) {
	f := newFolders(t)
	f.put(t, "a", "one")
	first, _ := f.Collect(chat, "r", big)
	f.put(t, "a", "longer")
	second, dropped := f.Collect(chat, "r", big)
	if len(first) != 1 || len(second) != 1 || second[0].Size != 6 || dropped != nil {
		t.Fatalf("%+v %+v %q", first, second, dropped)
	}
	if path, err := f.Copy(chat.Account, "r", 0, 6); err != nil || read(t, path) != "longer" {
		t.Errorf("%s: %v", path, err)
	}
	if _, err := f.Copy(chat.Account, "r", 0, 3); err == nil {
		t.Error("a copy of another size is sent")
	}
}

// An outbox that the agent replaced by a link leads nowhere.
func TestOutboxIsALink(t *testing.T) {
	f := newFolders(t)
	elsewhere := t.TempDir()
	must(t, os.WriteFile(filepath.Join(elsewhere, "id_rsa"), []byte("key"), 0o600))
	must(t, os.Remove(f.Outbox(chat)))
	must(t, os.Symlink(elsewhere, f.Outbox(chat)))
	if files, dropped := f.Collect(chat, "r", big); len(files) != 0 || len(dropped) != 1 {
		t.Errorf("%+v, dropped %q", files, dropped)
	}
	if _, err := f.SetAside(chat, time.Now()); err != nil {
		t.Error(err)
	}
	must(t, f.Open(chat))
	if info, err := os.Lstat(f.Outbox(chat)); err != nil || !info.IsDir() {
		t.Errorf("the outbox is %v: %v", info, err)
	}
	if read(t, filepath.Join(elsewhere, "id_rsa")) != "key" {
		t.Error("a file elsewhere was touched")
	}
}

// Names in a record may be damaged; they name nothing but our copies.
func TestCopyIsOurs(t *testing.T) {
	f := newFolders(t)
	must(t, os.WriteFile(filepath.Join(f.root, "0"), []byte("key"), 0o600))
	f.put(t, "a", "x")
	_, _ = f.Collect(chat, "r", big)
	for _, answer := range []string{"", ".", "..", "../..", "../../..", "r/../../../..", "other"} {
		if path, err := f.Copy(chat.Account, answer, 0, 3); err == nil {
			t.Errorf("%q is %s", answer, path)
		}
	}
	copied := filepath.Join(f.of(sending, chat.Account), "r", "0")
	must(t, os.Remove(copied))
	must(t, os.Symlink(filepath.Join(f.root, "0"), copied))
	if path, err := f.Copy(chat.Account, "r", 0, 3); err == nil {
		t.Errorf("a link is sent: %s", path)
	}
	for _, account := range []string{"../..:x", "feishu:..", "feishu", "a:b/c"} {
		if path := f.of(sending, account); !strings.HasPrefix(path, filepath.Join(f.root, sending, "unknown")) {
			t.Errorf("%q has %s", account, path)
		}
	}
}
