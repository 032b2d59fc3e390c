package daemon

import (
	"context"
	"log/slog"
	"path/filepath"

	"scv/daemon/logfile"
	"scv/internal/layout"
)

// openLog makes the home keep what is logged. The lock is ours by now, so nobody else writes there.
func (d *Daemon) openLog(context.Context) error {
	folder := d.home.join(layout.Logs)
	d.file = logfile.Open(folder, filepath.Join(folder, layout.Log), filepath.Join(folder, layout.OlderLog), logfile.MaxBytes)
	d.rooms.opened("log", d.file.Close)
	d.log = slog.New(logfile.Both(d.o.Log.Handler(), d.file))
	return nil
}

// noteFailure puts why a start failed into the file alone: the hand tells whoever started us.
func (d *Daemon) noteFailure(err error) {
	if err == nil || d.file == nil {
		return
	}
	slog.New(slog.NewJSONHandler(d.file, nil)).Error("ended", "err", err)
}
