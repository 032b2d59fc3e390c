package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestLogIsJSONOffATerminal(t *testing.T) {
	var out strings.Builder
	newLog(&out, &out, func(string) string { return "" }, slog.LevelInfo).Info("hello", "n", 1)
	if !strings.HasPrefix(out.String(), "{") || !strings.Contains(out.String(), `"msg":"hello","n":1`) {
		t.Errorf("got %q", out.String())
	}
}

func TestLogTellsTheJournalThePriority(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var stat syscall.Stat_t
	if err := syscall.Fstat(int(file.Fd()), &stat); err != nil {
		t.Fatal(err)
	}
	stream := fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
	getenv := func(string) string { return stream }
	log := newLog(file, file, getenv, slog.LevelDebug).With("room", "test")
	log.Debug("d")
	log.Info("i")
	log.Warn("w")
	log.Error("e")
	content, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	for i, want := range []string{"<7>{", "<6>{", "<4>{", "<3>{"} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], want) || !strings.Contains(lines[i], `"room":"test"`) {
			t.Fatalf("line %d of %q does not begin with %q", i, content, want)
		}
	}
	stream = "1:1" // inherited from somebody else's stderr
	if isJournal(file, getenv("")) {
		t.Error("another stream's JOURNAL_STREAM was believed")
	}
}
