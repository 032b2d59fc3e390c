package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"scv/internal/clock"
	"scv/store"
)

// TestLookEndsInACircle: a store whose pages point to themselves comes to an end with every verb that
// looks through it, in words and with the exit code of damage.
func TestLookEndsInACircle(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "circle.db")
	s, err := store.Open(t.Context(), store.Options{Path: path, Clock: clock.System{}, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Deliver(context.Background(), func(d *store.Delivery) error {
		for n := range 2000 {
			if err := d.MarkSeen("local:default", fmt.Sprint(n)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := closeCircles(t, path); n == 0 {
		t.Fatal("there is no branch page: the test shows nothing")
	}
	for _, args := range [][]string{{"store", "check", path}, {"store", "dump", path}, {"store", "restore", path}} {
		cmd := exec.CommandContext(t.Context(), "scv", args...)
		cmd.Env = append(os.Environ(), "SCV_HOME="+t.TempDir())
		begin := time.Now()
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != exitDamaged || !strings.Contains(string(out), "scv: ") || strings.Contains(string(out), "goroutine ") {
			t.Errorf("%v ended with %d: %.2000s", args, cmd.ProcessState.ExitCode(), out)
		}
		if took := time.Since(begin); took > 30*time.Second {
			t.Errorf("%v took %s", args, took)
		}
	}
}

// closeCircles makes every branch page its own only child.
func closeCircles(t *testing.T, path string) (circles int) {
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := os.Getpagesize()
	for at := 0; at+page <= len(raw); at += page {
		id := binary.NativeEndian.Uint64(raw[at:])
		if id != uint64(at/page) || binary.NativeEndian.Uint16(raw[at+8:]) != 1 {
			continue
		}
		for n := range int(binary.NativeEndian.Uint16(raw[at+10:])) {
			binary.NativeEndian.PutUint64(raw[at+16+16*n+8:], id)
		}
		circles++
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return circles
}
