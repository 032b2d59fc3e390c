package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"scv/internal/layout"
)

// TestStopWithoutALog: a daemon whose log was taken away, or can no more be written, stops as any other.
func TestStopWithoutALog(t *testing.T) {
	for name, spoil := range map[string]func(folder string) error{
		"removed": os.RemoveAll,
		"a file in the place of its folder": func(folder string) error {
			if err := os.RemoveAll(folder); err != nil {
				return err
			}
			return os.WriteFile(folder, nil, 0o600)
		},
		"a device that is full": func(folder string) error {
			if err := os.RemoveAll(filepath.Join(folder, layout.Log)); err != nil {
				return err
			}
			return os.Symlink("/dev/full", filepath.Join(folder, layout.Log))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := startDaemon(t, newHome(t))
			if err := spoil(filepath.Join(d.home, layout.Logs)); err != nil {
				t.Fatal(err)
			}
			d.toggle(t, 3) // each is a line for the log
			begin := time.Now()
			d.stop(t)
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("stopping took %v", took)
			}
		})
	}
}
