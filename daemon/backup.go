package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"scv/internal/layout"
	"scv/store"
)

// backupEvery is how old the newest copy gets before the daemon makes another.
const backupEvery = time.Hour

// backUp keeps a copy of the store that was looked through and found sound, for the day on which the
// store is not. A copy that is not sound is thrown away and the older ones stay.
func (d *Daemon) backUp(ctx context.Context) {
	folder := d.home.join(layout.Backups)
	if err := d.backUpTo(ctx, folder); err != nil && ctx.Err() == nil {
		if errors.Is(err, store.ErrDamaged) {
			d.log.Error("the store in use is damaged: stop the daemon and put a copy back with "+
				d.home.command("store restore"), "err", err)
			return
		}
		d.log.Error("cannot keep a copy of the store", "err", err)
	}
}

func (d *Daemon) backUpTo(ctx context.Context, folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	list, err := store.AutoBackups(folder)
	if err != nil {
		return err
	}
	now := d.clock.Now().Wall
	if len(list) > 0 {
		age := now.Sub(list[0].Made)
		if age >= 0 && age < backupEvery || d.unchangedSince(list[0].Made) {
			return nil
		}
	}
	path := filepath.Join(folder, store.BackupName(now, true))
	err = d.store.Backup(ctx, path, d.verify)
	return errors.Join(err, store.PruneBackups(folder, now))
}

// unchangedSince reports whether nothing was written to the store after a time.
func (d *Daemon) unchangedSince(t time.Time) bool {
	info, err := os.Stat(d.store.Path())
	return err == nil && info.ModTime().Before(t)
}

// verify is what a copy must pass.
func (d *Daemon) verify(ctx context.Context, path string) error {
	report, err := d.examine(ctx, path)
	return errors.Join(err, report.Err())
}
