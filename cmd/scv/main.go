// Command scv is the hand: one file per verb, each with its flags, one call to the daemon and the
// printing of what came back. It decides nothing; every rule lives with the daemon. Nobody imports it.
//
// It may import wire and wire/bus. Three files reach further: run.go starts the daemon, store.go reads
// the store where no daemon can be asked, agents.go looks at the agents of this machine.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
}

// endings are the signals that ask for an orderly end. A hang-up counts unless the caller ignores it,
// as nohup does.
func endings() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{os.Interrupt, syscall.SIGTERM}
	}
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
}
