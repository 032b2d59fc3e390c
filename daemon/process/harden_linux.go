package process

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Harden keeps others of our user out of our memory and our memory out of core files. It holds until
// the next exec. From then on our own files in /proc belong to root; those of our children do not.
func Harden() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("cannot close our memory to others: %w", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("cannot forbid core files: %w", err)
	}
	return nil
}

// BecomeSubreaper has the kernel give us what our descendants leave behind, so that it cannot escape to
// pid 1. The flag survives an exec. Where no kernel does this the error is errors.ErrUnsupported.
func BecomeSubreaper() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("cannot adopt orphans: %w", err)
	}
	return nil
}
