package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"scv/migrations"
	"scv/store"
	"scv/wire"
	"scv/wire/bus"
)

// storeFile is the daemon's store in its home.
const storeFile = "scv.db"

// storeSchema is the newest schema that this binary reads.
func storeSchema() uint64 { return uint64(migrations.Newest()) }

type storeCmds struct {
	Dump storeDump `cmd:"" help:"Show every record, secrets hidden."`
}

type storeDump struct {
	JSON  bool    `help:"Print one JSON object per record."`
	Texts bool    `help:"Show the texts of messages too."`
	Path  literal `arg:"" optional:"" help:"A store file to read instead of this home's."`
}

func (*storeDump) Help() string {
	return "Beside a running daemon it shows a snapshot that the daemon makes. With no daemon it reads the " +
		"file itself and changes nothing in it."
}

func (c *storeDump) Run(a *app) error {
	path, done, err := c.source(a)
	if err != nil {
		return err
	}
	defer done()
	printer := rowPrinter{a: a, json: c.JSON}
	err = store.DumpFile(a.ctx, path, store.DumpOptions{Texts: c.Texts}, printer.print)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return failf(exitFailed, "", "there is no store at %q", path)
	case errors.Is(err, store.ErrLocked):
		return failf(exitFailed, "ask the daemon: "+a.command("store dump"), "%w", err)
	case errors.Is(err, store.ErrDamaged):
		return failf(exitFailed, "what could be read is shown above; keep the file as it is", "%w", err)
	}
	return err
}

// source is the file to read, and how to clean up after.
func (c *storeDump) source(a *app) (path string, done func(), err error) {
	if c.Path != "" {
		return string(c.Path), func() {}, nil
	}
	var snapshot wire.StoreSnapshot
	err = a.call(changeLimit, func(ctx context.Context, client *bus.Client) (err error) {
		snapshot, err = client.StoreSnapshot(ctx)
		return err
	})
	switch {
	case exitCode(err) == exitNoDaemon:
		return filepath.Join(a.homeName(), storeFile), func() {}, nil
	case err != nil:
		return "", nil, err
	}
	return snapshot.Path, func() {
		if err := os.Remove(snapshot.Path); err != nil {
			a.note("cannot remove the snapshot; the daemon will: %v", err)
		}
	}, nil
}

// rowPrinter prints rows as they come: a store may be large.
type rowPrinter struct {
	a      *app
	json   bool
	bucket string // of the row before
}

func (p *rowPrinter) print(r store.Row) error {
	if p.json {
		return p.a.printJSON(r)
	}
	if r.Bucket != p.bucket {
		p.bucket = r.Bucket
		if _, err := fmt.Fprintln(p.a.stdout, paint(line(r.Bucket), good, p.a.colour)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(p.a.stdout, "  %s  %s\n", line(r.Key), line(string(r.Value)))
	return err
}
