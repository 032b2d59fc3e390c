package main

import (
	"runtime/debug"

	"golang.org/x/sys/unix"

	"scv/store"
)

// What a look may spend is far more than a sound store takes: seconds of a processor, and bytes of stack.
// Where a damaged one leads round in circles, the kernel or the runtime ends the process.
const (
	examineSeconds = 5
	examineStack   = 32 << 20
)

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
	debug.SetMaxStack(examineStack)
	report, err := store.Examine(a.ctx, string(c.Path), c.Records)
	if err != nil {
		report.Fail(err)
	}
	return a.printJSON(report)
}
