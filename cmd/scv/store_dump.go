package main

import (
	"errors"
	"fmt"

	"scv/store"
)

type storeDump struct {
	JSON  bool      `help:"Print one JSON object per record."`
	Texts bool      `help:"Show the texts of messages too."`
	Diff  bool      `help:"Show how two store files differ."`
	Paths []literal `arg:"" optional:"" name:"file" help:"A store file to read instead of this home's; two with --diff."`
}

func (*storeDump) Help() string {
	return "Beside a running daemon it shows a snapshot that the daemon makes. With no daemon it reads the " +
		"file itself and changes nothing in it. Of a damaged file it shows what can be read, and exits 4. " +
		"With --diff it exits 1 when the files differ."
}

func (c *storeDump) Run(a *app) error {
	switch {
	case c.Diff && len(c.Paths) == 2:
		return c.diff(a)
	case c.Diff:
		return failf(exitUsage, "try: scv store dump --diff OLD.db NEW.db", "--diff compares two files")
	case len(c.Paths) > 1:
		return failf(exitUsage, "try: scv store dump --diff OLD.db NEW.db", "only --diff reads two files")
	}
	named := ""
	if len(c.Paths) == 1 {
		named = string(c.Paths[0])
	}
	path, done, err := a.storeSource(named)
	if err != nil {
		return err
	}
	defer done()
	printer := rowPrinter{a: a, json: c.JSON}
	err = store.DumpFile(a.ctx, path, store.DumpOptions{Texts: c.Texts}, printer.print)
	if errors.Is(err, store.ErrDamaged) {
		hint := "what could be read is shown above; keep the file, and "
		if a.isOwn(path) {
			hint += a.putBack(path)
		} else {
			hint += "see all that is wrong with it: " + a.command("store check --json "+shellWord(path))
		}
		return failf(exitDamaged, hint, "%w", err)
	}
	return a.storeFailure(path, err)
}

// diff prints what one store has and the other has not.
func (c *storeDump) diff(a *app) error {
	differ := false
	options := store.DumpOptions{Texts: c.Texts}
	end := a.slowly("comparing the two")
	err := store.Diff(a.ctx, string(c.Paths[0]), string(c.Paths[1]), options, func(d store.Difference) error {
		differ = true
		if c.JSON {
			return a.printJSON(d)
		}
		return a.printDifference(d)
	})
	end()
	var bad *store.FileError
	switch {
	case errors.As(err, &bad):
		return a.storeFailure(bad.Path, bad.Err)
	case err != nil:
		return err
	case differ:
		return ended(exitFailed)
	}
	return nil
}

func (a *app) printDifference(d store.Difference) error {
	name := line(d.Bucket + " " + d.Key)
	if d.Before != nil {
		if _, err := fmt.Fprintln(a.stdout, paint("- "+name+"  "+line(string(d.Before)), bad, a.colour)); err != nil {
			return err
		}
	}
	if d.After == nil {
		return nil
	}
	_, err := fmt.Fprintln(a.stdout, paint("+ "+name+"  "+line(string(d.After)), good, a.colour))
	return err
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
