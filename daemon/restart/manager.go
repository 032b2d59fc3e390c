package restart

import (
	"os"

	"scv/daemon/process"
)

// Manager is who will start this daemon again when it ends: the process that has started it, as long as it
// lives. It is asked when a restart is agreed. A process whose parent died belongs to pid 1, which starts
// nothing again unless it is the service manager itself, as systemd says by a variable. A shell counts as
// one too: it costs a moment of waiting, and no more.
func Manager(getenv func(string) string) process.ID {
	parent := os.Getppid()
	if parent == 0 || parent == 1 && getenv("INVOCATION_ID") == "" {
		return process.ID{}
	}
	id, err := process.Lookup(parent)
	if err != nil {
		return process.ID{}
	}
	return id
}
