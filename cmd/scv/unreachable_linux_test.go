package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"scv/internal/layout"
	"scv/wire/bus"
)

// TestADaemonThatCannotBeReached: a home that is held is not told to start a second daemon, one that
// was held is.
func TestADaemonThatCannotBeReached(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	lock, err := os.Create(filepath.Join(home, layout.Lock))
	if err == nil {
		_, err = fmt.Fprintf(lock, "%-20d\n", os.Getpid())
	}
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	for _, held := range []bool{false, true} {
		want := "no daemon is running for " + home
		if held {
			want = fmt.Sprintf("scv runs with pid %d but cannot be reached", os.Getpid())
			if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
				t.Fatal(err)
			}
		}
		for _, verb := range []string{"status", "reload", "ps"} {
			got := at(t, home).scv(verb)
			if got.code != exitNoDaemon || !strings.Contains(got.errOut, want) || held && !strings.Contains(got.errOut, "scv logs, end process") {
				t.Errorf("held %v: scv %s: %+v", held, verb, got)
			}
		}
	}
}

// TestAShortSocketIsCleanedUp: a cleaner of old files takes the folder of a long home's socket, and the
// daemon is found again.
func TestAShortSocketIsCleanedUp(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	home := newHome(t, strings.Repeat("h", 100), strings.Repeat("i", 100))
	d := startDaemon(t, home)
	socket := bus.SocketPath(home, instanceID(home))
	if filepath.Dir(socket) == home {
		t.Fatalf("the socket is in the home: %q", socket)
	}
	if err := os.RemoveAll(filepath.Dir(socket)); err != nil {
		t.Fatal(err)
	}
	if got := at(t, home).scv("status"); got.code == exitNoDaemon && !strings.Contains(got.errOut, "cannot be reached") {
		t.Errorf("right after: %+v", got)
	}
	awaitServed(t, d)
	d.terminate(t)
}
