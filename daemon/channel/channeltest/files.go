package channeltest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"scv/daemon/channel"
)

// This file is what every Carrier must hold. Another adapter passes it by.

const png = "\x89PNG\r\n\x1a\n"

func carrier(t *testing.T, b *bench) channel.Carrier {
	t.Helper()
	c, carries := b.Adapter.(channel.Carrier)
	if !carries {
		t.Skip("it carries no files")
	}
	return c
}

// came has the owner send a file and gives it as it came.
func (b *bench) came(kind channel.FileKind, name, content string) channel.File {
	b.t.Helper()
	b.mu.Lock()
	before := len(b.taken)
	b.mu.Unlock()
	b.WriteFile("file", kind, name, []byte(content))
	until(b.t, "the file", func() bool { return len(b.texts()) > before })
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.taken[before]
	if len(m.Files) != 1 || m.Text != "" || m.Files[0].Kind != kind || m.Files[0].Ref == "" || len(m.Files[0].Ref) > 4<<10 {
		b.t.Fatalf("it came as %+v", m)
	}
	return m.Files[0]
}

func fetch(t *testing.T, c channel.Carrier, f channel.File, most int64) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var got bytes.Buffer
	err := c.Fetch(ctx, f, &got, most)
	if int64(got.Len()) > most {
		t.Errorf("%d bytes of %d", got.Len(), most)
	}
	return got.String(), err
}

func fetched(t *testing.T, b *bench) {
	c := carrier(t, b)
	stop := b.serve()
	content := png + strings.Repeat("picture", 10_000)
	image := b.came(channel.Image, "", content)
	if got, err := fetch(t, c, image, 1<<20); err != nil || got != content {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	file := b.came(channel.Document, "plan.json", `{"code":0}`)
	if got, err := fetch(t, c, file, 1<<20); err != nil || got != `{"code":0}` || file.Name != "plan.json" {
		t.Errorf("%q as %q, %v", got, file.Name, err)
	}
	stop() // a turn may begin while the account is connecting anew
	if got, err := fetch(t, c, image, 1<<20); err != nil || got != content {
		t.Errorf("while it does not serve: %d bytes, %v", len(got), err)
	}
}

func fetchedWithin(t *testing.T, b *bench) {
	c := carrier(t, b)
	b.serve()
	f := b.came(channel.Document, "a.txt", "0123456789")
	for most, fits := range map[int64]bool{9: false, 10: true, 11: true} {
		if got, err := fetch(t, c, f, most); fits && (err != nil || got != "0123456789") || !fits && !errors.Is(err, channel.ErrTooLarge) {
			t.Errorf("within %d: %q, %v", most, got, err)
		}
	}
}

func fetchedTooLate(t *testing.T, b *bench) {
	c := carrier(t, b)
	b.serve()
	f := b.came(channel.Image, "", png)
	b.Lose()
	if _, err := fetch(t, c, f, 100); !errors.Is(err, channel.ErrRefused) {
		t.Errorf("one that is gone: %v", err)
	}
	for _, ref := range []string{"", "x", "{}", strings.Repeat("x", 4<<10)} {
		if _, err := fetch(t, c, channel.File{Kind: channel.Image, Ref: ref}, 100); !errors.Is(err, channel.ErrRefused) {
			t.Errorf("a reference that was damaged: %v", err)
		}
	}
}

func fetchGivenUp(t *testing.T, b *bench) {
	c := carrier(t, b)
	b.serve()
	f := b.came(channel.Image, "", png)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := c.Fetch(ctx, f, &bytes.Buffer{}, 100); err == nil || errors.Is(err, channel.ErrRefused) || errors.Is(err, channel.ErrTooLarge) {
		t.Errorf("Fetch with a context that has ended: %v", err)
	}
}

// nowhere is a disk without room.
type nowhere struct{}

func (nowhere) Write([]byte) (int, error) { return 0, errFull }

func fetchedToNowhere(t *testing.T, b *bench) {
	c := carrier(t, b)
	b.serve()
	f := b.came(channel.Image, "", png)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := c.Fetch(ctx, f, nowhere{}, 100); !errors.Is(err, errFull) || errors.Is(err, channel.ErrRefused) {
		t.Errorf("a full disk is %v", err)
	}
}

// file is a part that is a file.
func (b *bench) file(id, name, content string, kind channel.FileKind) channel.Outgoing {
	b.t.Helper()
	path := filepath.Join(b.t.TempDir(), "0")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		b.t.Fatal(err)
	}
	out := b.outgoing(id, "")
	out.File = &channel.Upload{Path: path, Name: name, Kind: kind, Size: int64(len(content))}
	return out
}

func (b *bench) hand(out channel.Outgoing) (channel.Receipt, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return b.Adapter.Send(ctx, out)
}

func filesSent(t *testing.T, b *bench) {
	carrier(t, b)
	b.serve()
	want := []string{png + "one", "words", "\x00\x00\x00\x18ftypmp42 film"}
	b.send("r-0", "here they are")
	for n, out := range []channel.Outgoing{
		b.file("r-1", "one.png", want[0], channel.Image),
		b.file("r-2", "面 \"2\"\\.txt", want[1], channel.Document),
		b.file("r-3", "film.mp4", want[2], channel.Video),
	} {
		if receipt, err := b.hand(out); err != nil || receipt.MessageID == "" {
			t.Errorf("file %d: %+v, %v", n, receipt, err)
		}
	}
	if got := b.ShownFiles(); !slices.Equal(got, want) {
		t.Errorf("files %q", got)
	}
	if got := b.Shown(); len(got) == 0 || got[0] != "here they are" {
		t.Errorf("texts %q", got)
	}
}

func fileSentAgain(t *testing.T, b *bench) {
	carrier(t, b)
	b.serve()
	var ids []string
	for _, id := range []string{"part-1", "part-2", "part-1"} {
		receipt, err := b.hand(b.file(id, "a.png", png, channel.Image))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, receipt.MessageID)
	}
	if got := b.ShownFiles(); !slices.Equal(got, []string{png, png}) || ids[0] != ids[2] || ids[0] == ids[1] {
		t.Errorf("files %q as %q", got, ids)
	}
}

func largestFile(t *testing.T, b *bench) {
	c := carrier(t, b)
	b.serve()
	for _, kind := range []channel.FileKind{channel.Image, channel.Document, channel.Video} {
		n := min(c.MaxUpload(kind), 25<<20) // the daemon sends no larger one
		if n < 1<<20 {
			t.Errorf("of the kind %s it takes %d bytes", kind, n)
		}
		content := png + strings.Repeat("x", int(n)-len(png))
		if _, err := b.hand(b.file(string(kind), "a", content, kind)); err != nil {
			t.Errorf("%s of %d bytes: %v", kind, n, err)
		}
	}
	if got := b.ShownFiles(); len(got) != 3 {
		t.Errorf("%d files are shown", len(got))
	}
}
