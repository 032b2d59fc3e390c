package restart_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"scv/wire"
)

// TestNoRoomOnTheDisk fills the disk of the home before a restart is asked for, and again while it waits: the
// old release goes on, with the reason told, and the next restart works once there is room.
func TestNoRoomOnTheDisk(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root to mount a small disk")
	}
	s := newSite(t, program(t, firstRelease), "bin/scv")
	if err := unix.Mount("tmpfs", s.home, "tmpfs", 0, "size=128m,mode=0700"); err != nil {
		t.Skipf("cannot mount a small disk: %v", err)
	}
	t.Cleanup(func() { // before the site is removed: cleanups run backwards
		s.endAll()
		if err := unix.Unmount(s.home, 0); err != nil {
			t.Error(err)
		}
	})
	s.writeConfig(config)
	s.startAlone()
	pid := s.serves("1.0.0")
	s.install(program(t, secondRelease))
	empty := s.fill()
	_, err := s.request(wire.RestartWhenIdleCommand{})
	var refused *wire.Error
	if !errors.As(err, &refused) || refused.Code != wire.RestartError || !strings.Contains(refused.Text, "into the home") {
		t.Errorf("the request on a full disk: %v", err)
	}
	empty()
	end := s.busy()
	s.mustAsk()
	empty = s.fill()
	end()
	s.await("it is given up", s.idle)
	empty()
	if got := s.settled("1.0.0"); got != pid {
		t.Errorf("the pid was %d and is %d", pid, got)
	}
	s.oneOutcome(false, "no space left on device")
	s.mustAsk()
	if got := s.settled("2.0.0"); got != pid {
		t.Errorf("the pid was %d and is %d", pid, got)
	}
}

// fill leaves no byte on the disk of the home until what it returns is called.
func (s *site) fill() (empty func()) {
	s.t.Helper()
	path := filepath.Join(s.home, "ballast")
	f, err := os.Create(path)
	must(s.t, err)
	defer f.Close()
	for block := make([]byte, 1<<20); err == nil; {
		_, err = f.Write(block)
	}
	if !errors.Is(err, unix.ENOSPC) {
		s.t.Fatalf("the disk is not full: %v", err)
	}
	return func() {
		s.t.Helper()
		must(s.t, os.Remove(path))
	}
}
