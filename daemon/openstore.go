package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"scv/daemon/restart"
	"scv/internal/layout"
	"scv/store"
)

// openStore opens the store after it has made sure that this is no lost one, and harmless. The error is
// store.ErrDamaged when only safe mode is left.
func (d *Daemon) openStore(ctx context.Context) error {
	path := d.home.join(layout.Store)
	err := d.readyStore(ctx, path)
	if err == nil {
		err = d.openReady(ctx, path)
	}
	if d.o.Fresh && errors.Is(err, store.ErrDamaged) {
		d.log.Error("the store is damaged; beginning afresh as asked", "err", err)
		kept, moved := store.SetAside(path, d.clock.Now().Wall)
		if moved != nil {
			return moved
		}
		d.log.Warn("the damaged store is kept", "path", kept)
		err = d.openReady(ctx, path)
	}
	if err != nil {
		return err
	}
	d.rooms.opened("store", d.closeStore)
	for _, q := range d.store.Quarantined() {
		d.log.Error("a record could not be read and was set aside", "bucket", q.Bucket, "key", q.Key, "reason", q.Reason)
	}
	return errors.Join(d.store.NoteLife(), d.store.Sweep(ctx))
}

func (d *Daemon) openReady(ctx context.Context, path string) (err error) {
	if d.moves() {
		d.phase(restart.Migrating)
		defer d.phase(restart.Starting)
	}
	d.store, err = store.Open(ctx, store.Options{
		Path: path, Clock: d.clock, Log: d.log, Release: d.o.Version, Instance: d.home.Instance,
	})
	return err
}

// closeStore also notes that this was an orderly end.
func (d *Daemon) closeStore() error {
	if err := d.store.Close(); err != nil {
		return err
	}
	return d.store.NoteClosed()
}

// readyStore looks at what is there before anything opens it.
func (d *Daemon) readyStore(ctx context.Context, path string) error {
	condition, err := store.Look(path)
	if err != nil {
		return err
	}
	switch condition {
	case store.Missing, store.Stub:
		return d.readyFirst(condition, path)
	case store.Unclean:
		d.log.Info("looking through the store: it was not closed in order, or was changed since", "path", path)
		report, err := d.examine(ctx, path)
		return errors.Join(err, report.Err())
	}
	return nil
}

// readyFirst lets a first store be made where none ever was. One that is lost is no fresh start: its
// questions, grants and messages may still be had.
func (d *Daemon) readyFirst(condition store.Condition, path string) error {
	sign, err := store.EarlierLife(path)
	if err != nil {
		return err
	}
	lost := sign != "" && !d.o.Fresh
	switch {
	case lost && condition == store.Missing:
		return fmt.Errorf("the store %q is gone, and %q says that there was one: put a copy back with %s, "+
			"or begin afresh with %s", path, sign, d.home.command("store restore"), d.home.command("run --fresh"))
	case lost:
		return fmt.Errorf("%w: %q is shorter than any store, and %q says that there was one", store.ErrDamaged, path, sign)
	case condition == store.Stub:
		d.log.Warn("the store was never finished; it is made anew", "path", path)
		return store.DropStub(path)
	case sign != "":
		d.log.Warn("beginning afresh as asked", "path", path, "earlier", sign)
	}
	return nil
}

// examine looks through a store file in a child process, which a damaged one may kill or hang.
func (d *Daemon) examine(ctx context.Context, path string) (store.Report, error) {
	if d.o.Program == "" {
		return store.Examine(ctx, path, false)
	}
	return ExamineApart(ctx, d.o.Program, path, false)
}

// plain are the bytes of a path that a shell takes as they are.
const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:@%+=-"

// command is how a person would type an scv command for this home.
func (h Home) command(words string) string {
	path := h.Path
	if strings.Trim(path, plain) != "" {
		path = "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return "scv --home " + path + " " + words
}
