package testexe

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// player is the small program that plays fake programs. A test binary does that as well, and takes a hundred times as
// long to start, with the race detector and all that its tests bring in.
type player struct {
	once         sync.Once
	folder, path string
}

var players player

// find makes the program when the first fake one is wanted. A test binary that another one has started, and one that
// cannot build, plays by itself.
func (p *player) find() string {
	p.once.Do(func() {
		if root != os.Getpid() || !p.build() {
			self, err := os.Executable()
			if err != nil {
				panic("cannot find the test binary: " + err.Error())
			}
			p.path = self
		}
	})
	return p.path
}

func (p *player) build() bool {
	folder, err := os.MkdirTemp("", "scv-fake-")
	if err != nil {
		return false
	}
	path := filepath.Join(folder, "fake")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", path, "scv/internal/testexe/fake")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if cmd.Run() != nil {
		_ = os.RemoveAll(folder) // of temporary files
		return false
	}
	p.folder, p.path = folder, path
	return true
}

// Tidy removes what was made to play fake programs, once all tests have ended.
func Tidy() {
	if players.folder != "" {
		_ = os.RemoveAll(players.folder) // of temporary files
	}
}
