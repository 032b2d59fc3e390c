package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"syscall"

	"github.com/lmittmann/tint"
)

// newLog writes the daemon's log to w in the form that suits stderr, where w leads: coloured lines on a
// terminal, JSON lines elsewhere, and those with a priority in front where stderr is the journal.
func newLog(w, stderr io.Writer, getenv func(string) string, level slog.Leveler) *slog.Logger {
	switch {
	case isTerminal(stderr):
		return slog.New(tint.NewTextHandler(w, &tint.Options{Level: level, NoColor: !coloured(getenv)}))
	case isJournal(stderr, getenv("JOURNAL_STREAM")):
		return slog.New(newJournal(w, level))
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
}

// isJournal compares the stream's device and inode with what systemd put into JOURNAL_STREAM: a child
// with another stderr inherits the variable too.
func isJournal(stream io.Writer, journal string) bool {
	f, ok := stream.(*os.File)
	if !ok || journal == "" {
		return false
	}
	info, err := f.Stat()
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && journal == fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
}

// journal is a handler per syslog priority, each of which starts its lines with it.
type journal [4]slog.Handler

var priorities = [4]string{"<7>", "<6>", "<4>", "<3>"} // debug, info, warning, error: sd-daemon(3)

func newJournal(w io.Writer, level slog.Leveler) journal {
	var j journal
	for i, priority := range priorities {
		j[i] = slog.NewJSONHandler(prefixed{w, priority}, &slog.HandlerOptions{Level: level})
	}
	return j
}

func (j journal) at(level slog.Level) slog.Handler {
	switch {
	case level >= slog.LevelError:
		return j[3]
	case level >= slog.LevelWarn:
		return j[2]
	case level >= slog.LevelInfo:
		return j[1]
	}
	return j[0]
}

func (j journal) Enabled(ctx context.Context, level slog.Level) bool {
	return j.at(level).Enabled(ctx, level)
}

func (j journal) Handle(ctx context.Context, r slog.Record) error {
	return j.at(r.Level).Handle(ctx, r)
}

func (j journal) WithAttrs(attrs []slog.Attr) slog.Handler {
	for i := range j {
		j[i] = j[i].WithAttrs(attrs)
	}
	return j
}

func (j journal) WithGroup(name string) slog.Handler {
	for i := range j {
		j[i] = j[i].WithGroup(name)
	}
	return j
}

// prefixed puts a prefix before every write: slog hands over one record at a time.
type prefixed struct {
	w      io.Writer
	prefix string
}

func (p prefixed) Write(b []byte) (int, error) {
	_, err := p.w.Write(append([]byte(p.prefix), b...))
	return len(b), err
}
