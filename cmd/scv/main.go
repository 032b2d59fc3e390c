// Command scv is the hand: one file per verb, each with its flags, one call to the daemon and the
// printing of what came back. It decides nothing; every rule lives with the daemon. Nobody imports it.
//
// It may import wire and wire/bus. A few files reach further: run.go and boot.go start the daemon, store.go
// reads the store where no daemon can be asked, agents.go looks at the agents of this machine, guard.go watches
// over a restart. internal/archtest has the list.
package main

import (
	"os"
)

func main() {
	var s *signals
	if failsClosed(os.Args[1:]) { // first of all: even then its end is an exit code
		s = listen(func() { os.Exit(exitOther) })
	}
	started := boot() // before anything that a bad release could fail at
	if s == nil {
		s = listen(nil)
	}
	os.Exit(run(withBoot(s.ctx, s, started), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
}
