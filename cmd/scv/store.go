package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"scv/internal/layout"
	"scv/migrations"
	"scv/store"
	"scv/wire"
	"scv/wire/bus"
)

// storeSchema is the newest schema that this binary reads.
func storeSchema() uint64 { return uint64(migrations.Newest()) }

// exitDamaged is the end of a look at a store that is damaged; what could be read was shown.
const exitDamaged = 4

type storeCmds struct {
	Dump    storeDump    `cmd:"" help:"Show every record, secrets hidden."`
	Check   storeCheck   `cmd:"" help:"Look for damage."`
	Backup  storeBackup  `cmd:"" help:"Make a copy."`
	Restore storeRestore `cmd:"" help:"Put a copy back."`
	Compact storeCompact `cmd:"" help:"Give the disk back what the store no longer needs."`
	Migrate storeMigrate `cmd:"" help:"Bring the store to this scv's schema."`
	Examine storeExamine `cmd:"" hidden:"" help:"Look through a store file, in this process."`
}

// storePath is the store of this home.
func (a *app) storePath() string { return filepath.Join(a.homeName(), layout.Store) }

// storeSource is a store file to read, and how to clean up after: the one that was named, else a snapshot
// that the daemon makes, else this home's own where no daemon can make one.
func (a *app) storeSource(named string) (path string, done func(), err error) {
	if named != "" {
		return named, func() {}, nil
	}
	var snapshot wire.StoreSnapshot
	err = a.call(changeLimit, func(ctx context.Context, client *bus.Client) (err error) {
		snapshot, err = client.StoreSnapshot(ctx)
		return err
	})
	var refused *wire.Error
	switch {
	case exitCode(err) == exitNoDaemon:
		return a.storePath(), func() {}, nil
	case errors.As(err, &refused) && refused.Code == wire.Unavailable: // in safe mode it does not hold the file
		a.note("the daemon cannot make a snapshot, so the file itself is read: %s", line(refused.Error()))
		return a.storePath(), func() {}, nil
	case err != nil:
		return "", nil, a.withDoctor(err)
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // a reader that leaves must not leave the snapshot behind
	return snapshot.Path, func() {
		if err := os.Remove(snapshot.Path); err != nil {
			a.note("cannot remove the snapshot; the daemon will: %v", err)
		}
	}, nil
}

// storeFailure says in a person's words why a store file could not be used.
func (a *app) storeFailure(path string, err error) error {
	own := a.isOwn(path)
	switch {
	case err == nil || a.ctx.Err() != nil || errors.Is(err, syscall.EPIPE): // who reads what we print has left
		return err
	case errors.Is(err, fs.ErrNotExist):
		return failf(exitFailed, a.whereThen(own), "there is no store at %q", path)
	case errors.Is(err, store.ErrLocked):
		return failf(exitFailed, "ask the daemon: "+a.beside(path, own), "%w", err)
	case errors.Is(err, store.ErrDamaged):
		return &failure{code: exitDamaged, err: plainDamage{err}, hint: a.putBack(path)}
	case !own:
		return failf(exitFailed, a.whereThen(own), "%w", err)
	}
	return failf(exitFailed, a.seeDoctor(), "%w", err)
}

// isOwn reports whether a path is that of this home's store.
func (a *app) isOwn(path string) bool {
	absolute, err := filepath.Abs(path)
	return err == nil && absolute == a.storePath()
}

// whereThen is where to find a store instead of one that is not to be had.
func (a *app) whereThen(own bool) string {
	if !own {
		return "this home's own is read where none is named: " + a.command("store check")
	}
	if sign, err := store.EarlierLife(a.storePath()); err != nil || sign != "" {
		return "put a copy back: " + a.command("store restore")
	}
	return "the first start makes it: " + a.command("run")
}

// beside is the command that works where a daemon holds a store.
func (a *app) beside(path string, own bool) string {
	if own {
		return a.command("store dump")
	}
	return "scv --home " + shellWord(filepath.Dir(path)) + " store dump"
}

// seeDoctor is the advice where the trouble is not the store's: a full disk, or another user's home.
func (a *app) seeDoctor() string { return "see what is wrong: " + a.command("doctor") }

// withDoctor gives an error of this home that advice, unless it has its own.
func (a *app) withDoctor(err error) error {
	if err == nil || hintOf(err) != "" || a.ctx.Err() != nil {
		return err
	}
	return failf(exitCode(err), a.seeDoctor(), "%w", err)
}

// putBack is what to do about a damaged file: to look at it, where it is not this home's store.
func (a *app) putBack(path string) string {
	if !a.isOwn(path) {
		return "see what can be read: " + a.command("store dump "+shellWord(path))
	}
	return "put a copy back: " + a.command("store restore")
}

// plainDamage leaves out what a program said when it met the damage: it stands in the daemon's log and in
// scv store check --json.
type plainDamage struct{ error }

func (d plainDamage) Error() string {
	words, _, _ := strings.Cut(d.error.Error(), ": panic: ")
	return words
}

func (d plainDamage) Unwrap() error { return d.error }
