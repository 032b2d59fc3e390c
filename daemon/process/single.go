package process

import (
	"golang.org/x/sys/unix"
)

// Terminate asks this very process, another daemon of ours, for its orderly end.
func Terminate(id ID) error { return signalProcess(id, unix.SIGTERM) }

// Kill ends this very process, a daemon of ours that does not answer.
func Kill(id ID) error { return signalProcess(id, unix.SIGKILL) }
