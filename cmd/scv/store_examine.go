package main

import (
	"golang.org/x/sys/unix"

	"scv/store"
)

// examineSeconds of a processor are far more than a sound store takes. What spends more goes round in
// circles, and the kernel ends it.
const examineSeconds = 5

// storeExamine is how scv looks through a store in a process that the store may kill.
type storeExamine struct {
	Records bool    `help:"Read every record too."`
	Path    literal `arg:"" help:"The store file."`
}

func (c *storeExamine) Run(a *app) error {
	limit := unix.Rlimit{Cur: examineSeconds, Max: examineSeconds}
	if err := unix.Setrlimit(unix.RLIMIT_CPU, &limit); err != nil {
		return failf(exitFailed, "", "cannot bound the look at the store: %w", err)
	}
	report, err := store.Examine(a.ctx, string(c.Path), c.Records)
	if err != nil {
		report.Failure = err.Error()
	}
	return a.printJSON(report)
}
