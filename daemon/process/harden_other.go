//go:build !linux

package process

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Harden keeps our memory out of core files. Debuggers of our own user are not kept out here.
func Harden() error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("cannot forbid core files: %w", err)
	}
	return nil
}

// BecomeSubreaper cannot be had here: this kernel gives orphans to pid 1 only. What leaves its group, its
// environment and its parent behind between two passes escapes. The error is errors.ErrUnsupported.
func BecomeSubreaper() error { return fmt.Errorf("cannot adopt orphans: %w", errors.ErrUnsupported) }
