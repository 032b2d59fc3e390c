package logfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"scv/daemon/logfile"
)

// A disk that fills up in the middle of a line leaves no half line, and the log goes on once there is
// room again.
func TestAFullDisk(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount the small disk that this needs")
	}
	disk := t.TempDir()
	if err := unix.Mount("scv-test", disk, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("cannot mount a small disk here: %v", err)
	}
	defer unix.Unmount(disk, unix.MNT_DETACH)
	path := filepath.Join(disk, "log", "scv.log")
	f := logfile.Open(filepath.Dir(path), path, path+".1", 1<<20)
	defer f.Close()
	line := strings.Repeat("x", 999) + "\n"
	for range 100 {
		write(t, f, line)
	}
	full := strings.SplitAfter(read(t, path), "\n")
	if len(full) < 50 || len(full) > 70 {
		t.Fatalf("%d lines fit on the disk", len(full))
	}
	for _, got := range full[:len(full)-1] {
		if got != line && !strings.HasPrefix(got, `{"time":`) {
			t.Fatalf("half a line was left: %q", got)
		}
	}
	if full[len(full)-1] != "" {
		t.Fatalf("the last line has no end")
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	write(t, f, line)
	if got := read(t, path); !strings.HasPrefix(got, `{"time":`) || !strings.HasSuffix(got, line) {
		t.Errorf("after there was room again: %d bytes", len(got))
	}
}
