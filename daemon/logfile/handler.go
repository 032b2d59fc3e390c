package logfile

import (
	"context"
	"errors"
	"io"
	"log/slog"
)

// Both is a handler that writes to first, and the same as JSON lines to w. What is worth a line is for
// first to say.
func Both(first slog.Handler, w io.Writer) slog.Handler {
	all := slog.HandlerOptions{Level: slog.Level(-1 << 30)}
	return both{first, slog.NewJSONHandler(w, &all)}
}

type both [2]slog.Handler

// Enabled implements slog.Handler.
func (b both) Enabled(ctx context.Context, level slog.Level) bool { return b[0].Enabled(ctx, level) }

// Handle implements slog.Handler. The file comes first: stderr may be a pipe that nobody reads.
func (b both) Handle(ctx context.Context, r slog.Record) error {
	return errors.Join(b[1].Handle(ctx, r.Clone()), b[0].Handle(ctx, r))
}

// WithAttrs implements slog.Handler.
func (b both) WithAttrs(attrs []slog.Attr) slog.Handler {
	return both{b[0].WithAttrs(attrs), b[1].WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (b both) WithGroup(name string) slog.Handler {
	return both{b[0].WithGroup(name), b[1].WithGroup(name)}
}
