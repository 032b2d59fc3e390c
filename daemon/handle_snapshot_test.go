package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"scv/wire"
)

// TestTheDiskIsNamed: a person who asks for a copy and has no room for it is told which disk is meant.
func TestTheDiskIsNamed(t *testing.T) {
	d := &Daemon{home: Home{Path: "/some/home"}}
	for cause, want := range map[error]string{syscall.ENOSPC: "full", syscall.EDQUOT: "quota", syscall.EROFS: "read-only"} {
		err := fmt.Errorf("cannot copy: %w", &fs.PathError{Op: "write", Path: "/x", Err: cause})
		got := d.diskRefuses(err)
		if got == nil || got.Code != wire.Unavailable || !strings.Contains(got.Text, want) || !strings.Contains(got.Text, "/some/home") {
			t.Errorf("%v is told as %+v", cause, got)
		}
	}
	for _, err := range []error{nil, errors.New("another"), syscall.EIO} {
		if got := d.diskRefuses(err); got != nil {
			t.Errorf("%v is told as %v", err, got)
		}
	}
}
