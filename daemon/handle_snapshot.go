package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"scv/wire"
)

const (
	snapshotPattern = "snapshot-*.db"
	snapshotLife    = 10 * time.Minute // what an asker left behind is removed after it
	keepHouseAfter  = 5 * time.Second  // of the start, which needs the machine for itself: a copy is looked through by a process of its own
	keepHouseEvery  = 10 * time.Minute
	sweepEvery      = 6 // times keepHouseEvery: the store's retention, hourly
)

// handleStoreSnapshot copies the store to a file of its own, which the asker reads and removes. The
// copy is not made on the connection: a slow reader must not hold a read of the store open.
func (d *Daemon) handleStoreSnapshot(ctx context.Context, _ call, _ wire.StoreSnapshotRequest) (wire.StoreSnapshot, error) {
	path := d.home.join("snapshot-" + newID() + ".db")
	err := d.store.Snapshot(ctx, path)
	if refused := d.diskRefuses(err); refused != nil {
		d.log.Error("cannot make a snapshot", "err", err)
		return wire.StoreSnapshot{}, refused
	}
	return wire.StoreSnapshot{Path: path}, err
}

// diskRefuses says in a person's words that the disk of the home takes no file; nil for another error.
func (d *Daemon) diskRefuses(err error) *wire.Error {
	why := ""
	switch {
	case errors.Is(err, syscall.ENOSPC):
		why = "is full: make room there"
	case errors.Is(err, syscall.EDQUOT):
		why = "has no room left for this user (quota): make room there"
	case errors.Is(err, syscall.EROFS):
		why = "is read-only: mount it writable"
	default:
		return nil
	}
	return wire.Refuse(wire.Unavailable, "the store cannot be copied: the disk that holds %q %s", d.home.Path, why)
}

// keepHouse removes what outlived its use, until ctx ends.
func (d *Daemon) keepHouse(ctx context.Context) error {
	next := time.NewTimer(keepHouseAfter)
	defer next.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-next.C:
			next.Reset(keepHouseEvery)
		}
		if n > 0 && n%sweepEvery == 0 {
			if err := d.store.Sweep(ctx); err != nil {
				d.log.Error("cannot apply the store's retention", "err", err)
			}
			d.questions.forgetCodes()
			d.sweepFiles()
		}
		d.removeSnapshots()
		if n > 0 || !d.store.Fresh() {
			d.backUp(ctx)
		}
	}
}

func (d *Daemon) removeSnapshots() {
	paths, err := filepath.Glob(d.home.join(snapshotPattern))
	if err != nil {
		d.log.Error("cannot list snapshots", "err", err)
		return
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && d.clock.Now().Wall.Sub(info.ModTime()) > snapshotLife {
			if err := os.Remove(path); err != nil {
				d.log.Warn("cannot remove a snapshot", "path", path, "err", err)
			}
		}
	}
}
