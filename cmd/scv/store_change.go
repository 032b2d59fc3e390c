package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"scv/internal/layout"
	"scv/store"
)

// tool is what changes the store's file while no daemon runs.
func (a *app) tool() store.Tool {
	return store.Tool{
		Path: a.storePath(), Lock: filepath.Join(a.homeName(), layout.Lock), PID: os.Getpid(), At: a.now(),
		Log: slog.New(slog.DiscardHandler), Verify: a.verify,
	}
}

// changeFailure says in a person's words why the store was left as it was.
func (a *app) changeFailure(err error) error {
	if errors.Is(err, store.ErrLocked) {
		return failf(exitFailed, "see what it is: "+a.command("status"), "%w", err)
	}
	return a.storeFailure(a.storePath(), err)
}

func (a *app) sayKept(done store.Changed) {
	if done.Kept != "" {
		a.say("the old file is kept: %s", line(done.Kept))
	}
}

type storeRestore struct {
	Path literal `arg:"" optional:"" name:"file" help:"The copy to put back; by default the newest sound one of the home's folder backup."`
}

func (*storeRestore) Help() string {
	return "The daemon must be stopped. What the store took after the copy was made is only in the old file, which is " +
		"kept: compare them with scv store dump --diff."
}

func (c *storeRestore) Run(a *app) error {
	from := string(c.Path)
	if from == "" {
		var err error
		if from, err = a.newestSound(); err != nil {
			return err
		}
	}
	tool := a.tool()
	tool.Verify = a.restorable
	end := a.slowly("putting the copy back")
	done, err := tool.Restore(a.ctx, from)
	end()
	switch {
	case errors.Is(err, store.ErrDamaged):
		return failf(exitDamaged, "take the newest sound copy: "+a.command("store restore"), "%w", err)
	case errors.Is(err, fs.ErrNotExist):
		return failf(exitFailed, "take the newest sound copy: "+a.command("store restore"), "there is no store at %q", from)
	case errors.Is(err, errNoCopy) && a.ctx.Err() == nil:
		return failf(exitFailed, "take the newest sound copy: "+a.command("store restore"), "%w", err)
	case err != nil:
		return a.changeFailure(err)
	}
	a.say("restored from %s", line(from))
	a.sayKept(done)
	return nil
}

// restorable is what a copy must pass to be put back: sound, and not of a newer scv.
func (a *app) restorable(_ context.Context, path string) error {
	report, err := a.examine(path)
	if err != nil {
		return fmt.Errorf("%w%w", errNoCopy, err)
	}
	if err = report.Err(); err == nil {
		err = report.Newer()
	}
	return err
}

// errNoCopy marks what is not even a file that can be looked through. It adds no words.
var errNoCopy = errors.New("")

// newestSound is the newest copy that passes a look.
func (a *app) newestSound() (string, error) {
	folder := filepath.Join(a.homeName(), layout.Backups)
	list, err := store.Backups(folder)
	if err != nil {
		return "", a.withDoctor(err)
	}
	for _, b := range list {
		err := a.restorable(a.ctx, b.Path)
		if err == nil {
			return b.Path, nil
		}
		if a.ctx.Err() != nil {
			return "", a.ctx.Err()
		}
		a.note("passing over %s: %s", line(b.Path), line(err.Error()))
	}
	return "", failf(exitFailed, "name one, or begin afresh: "+a.command("run --fresh"), "there is no sound copy in %q", folder)
}

type storeCompact struct{}

func (*storeCompact) Help() string { return "The daemon must be stopped. The old file is kept." }

func (c *storeCompact) Run(a *app) error {
	done, err := a.change(store.Tool.Compact)
	if err != nil {
		return err
	}
	a.say("%d bytes before, %d now", done.Before, done.After)
	a.sayKept(done)
	return nil
}

type storeMigrate struct{}

func (*storeMigrate) Help() string {
	return "The daemon must be stopped. It does the same by itself when it starts; this is to see it happen. The old " +
		"file is kept."
}

func (c *storeMigrate) Run(a *app) error {
	done, err := a.change(store.Tool.Migrate)
	switch {
	case err != nil:
		return err
	case done.From == done.To:
		a.say("nothing to do: the store has schema %d", done.To)
	default:
		a.say("from schema %d to %d", done.From, done.To)
		a.sayKept(done)
	}
	return nil
}

func (a *app) change(do func(store.Tool, context.Context) (store.Changed, error)) (store.Changed, error) {
	end := a.slowly("working on a copy of the store")
	done, err := do(a.tool(), a.ctx)
	end()
	if err != nil {
		return done, a.changeFailure(err)
	}
	return done, nil
}
