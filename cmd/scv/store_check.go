package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"scv/daemon"
	"scv/internal/layout"
	"scv/store"
)

type storeCheck struct {
	JSON bool    `help:"Print what was found as JSON."`
	Path literal `arg:"" optional:"" name:"file" help:"A store file to check instead of this home's."`
}

func (*storeCheck) Help() string {
	return "Beside a running daemon it checks a snapshot that the daemon makes. It changes nothing, and exits 4 " +
		"when the store is damaged, 1 when single records cannot be read."
}

func (c *storeCheck) Run(a *app) error {
	path, done, err := a.storeSource(string(c.Path))
	if err != nil {
		return err
	}
	defer done()
	report, err := a.examine(path)
	if err != nil {
		return a.storeFailure(path, err)
	}
	if c.JSON {
		err = a.printJSON(report)
	} else {
		a.printReport(report)
	}
	switch {
	case err != nil:
		return err
	case report.Err() != nil:
		return a.storeFailure(path, report.Err())
	case report.Newer() != nil:
		return failf(exitFailed, "or put a copy of before back: "+a.command("store restore"), "%w", report.Newer())
	case len(report.Flaws) > 0:
		return failf(exitFailed, "the daemon sets such records aside at its next start: "+a.command("run"),
			"%d records cannot be read", len(report.Flaws))
	}
	return nil
}

func (a *app) printReport(r store.Report) {
	for _, flaw := range r.Flaws {
		a.say("%s", line(flaw))
	}
	switch {
	case r.Damage != "" || len(r.Flaws) > 0 || r.Newer() != nil:
	case r.Schema != r.Newest:
		a.say("the pages are sound; schema %d, and this scv has %d: %s", r.Schema, r.Newest, a.command("store migrate"))
	default:
		a.say("the store is sound: %d records, schema %d, %d bytes", r.Records, r.Schema, r.Bytes)
	}
}

// examine has a process of its own look through a store file, which may kill it.
func (a *app) examine(path string) (store.Report, error) {
	if _, err := os.Stat(path); err != nil {
		return store.Report{}, err
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return store.Report{}, fmt.Errorf("cannot make %q absolute: %w", path, err)
	}
	program, err := os.Executable()
	if err != nil {
		return store.Report{}, fmt.Errorf("cannot find the program itself: %w", err)
	}
	defer a.slowly("looking through the store")()
	return daemon.ExamineApart(a.ctx, program, absolute, true)
}

// verify is what a copy must pass before it gets its name: a sound file. Records that cannot be read are
// set aside when it is opened.
func (a *app) verify(_ context.Context, path string) error {
	report, err := a.examine(path)
	return errors.Join(err, report.Err())
}

type storeBackup struct {
	Path literal `arg:"" optional:"" name:"file" help:"The file to make; by default a new one in the home's folder backup."`
}

func (*storeBackup) Help() string {
	return "The copy is checked before it gets its name, and no file is replaced. It holds messages and secrets as " +
		"the store does. It works beside a running daemon and without one."
}

func (c *storeBackup) Run(a *app) error {
	to := string(c.Path)
	if to == "" {
		folder := filepath.Join(a.homeName(), layout.Backups)
		to = filepath.Join(folder, store.BackupName(a.now(), false))
		if _, err := os.Stat(a.homeName()); err == nil {
			if err := os.MkdirAll(folder, 0o700); err != nil {
				return a.withDoctor(fmt.Errorf("cannot make the folder of backups: %w", err))
			}
		}
	}
	taken := failf(exitFailed, "name another file, or none: "+a.command("store backup"), "there is a file %q already", to)
	if _, err := os.Lstat(to); err == nil {
		return taken
	}
	from, done, err := a.storeSource("")
	if err != nil {
		return err
	}
	defer done()
	if _, err := os.Stat(from); err != nil {
		return a.storeFailure(from, err)
	}
	// The look comes first: a copy maps the file into this process.
	if err := a.verify(a.ctx, from); err != nil {
		return a.storeFailure(from, err)
	}
	end := a.slowly("copying the store")
	err = store.Copy(a.ctx, from, to, a.verify)
	end()
	switch {
	case errors.Is(err, fs.ErrExist): // somebody else was quicker
		return taken
	case err != nil && c.Path != "" && a.ctx.Err() == nil:
		return failf(exitFailed, "name another file, or none: "+a.command("store backup"), "%w", err)
	case err != nil:
		return a.withDoctor(err)
	}
	a.say("%s", line(to))
	return nil
}
