package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/sys/unix"

	"scv/daemon/caller"
	"scv/internal/clock"
	"scv/wire"
)

// TestSnapshotOnAFullDisk asks for a copy where the disk has no byte left.
func TestSnapshotOnAFullDisk(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to mount a small disk")
	}
	home := newHome(t, "")
	if err := unix.Mount("tmpfs", home, "tmpfs", 0, "size=1048576,mode=0700"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(home, 0); err != nil {
			t.Error(err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		d := startInProcess(t, home, clock.NewVirtual())
		defer d.stop()
		ballast := filepath.Join(home, "ballast")
		if err := os.WriteFile(ballast, make([]byte, 2<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
			t.Fatalf("the disk is not full: %v", err)
		}
		c := d.client(caller.Verdict{})
		defer c.Close()
		_, err := c.StoreSnapshot(t.Context())
		var refused *wire.Error
		if !errors.As(err, &refused) || refused.Code != wire.Unavailable || !strings.Contains(refused.Text, home+`" is full`) {
			t.Errorf("told %v", err)
		}
		left, _ := filepath.Glob(filepath.Join(home, "*snapshot-*"))
		if len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	})
}
