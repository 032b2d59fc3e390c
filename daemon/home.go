package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"scv/daemon/lock"
	"scv/daemon/process"
	"scv/internal/layout"
)

// Home is the folder that holds everything of one instance.
type Home struct {
	Path     string // absolute, without links
	Instance string // layout.Instance of Path
}

// OpenHome makes the folder (0700), then resolves it. A folder that others may enter is refused.
func OpenHome(path string) (Home, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return Home{}, fmt.Errorf("cannot make home %q: %w", path, err)
	}
	abs, err := filepath.Abs(path)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return Home{}, fmt.Errorf("cannot resolve home %q: %w", path, err)
	}
	info, err := os.Stat(abs)
	if err != nil {
		return Home{}, fmt.Errorf("cannot look at home %q: %w", abs, err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return Home{}, fmt.Errorf("cannot use home %q: others may enter it (mode %04o); %s", abs, info.Mode().Perm(), cure(abs))
	}
	return Home{Path: abs, Instance: layout.Instance(abs)}, nil
}

// cure advises on a folder that others may enter: one that is no home of ours must not be closed to
// them on our word.
func cure(path string) string {
	entries, err := os.ReadDir(path)
	ours := err == nil && len(entries) == 0
	for _, name := range []string{layout.Lock, layout.Store, "config.toml"} {
		if _, err := os.Lstat(filepath.Join(path, name)); err == nil {
			ours = true
		}
	}
	if ours {
		return "chmod 700 it"
	}
	return "it does not look like a home of scv: name a folder of its own with --home or SCV_HOME"
}

// join is a file of the home.
func (h Home) join(name string) string { return filepath.Join(h.Path, name) }

// take gets the right to the home, or says who has it.
func (h Home) take(ctx context.Context, self process.ID) (*lock.Lock, error) {
	held, err := lock.Take(ctx, h.join(layout.Lock), lock.Own(self, lock.Daemon, ""))
	if errors.Is(err, lock.ErrRunning) {
		return nil, fmt.Errorf("cannot start in %q: %w", h.Path, err)
	}
	return held, err
}
