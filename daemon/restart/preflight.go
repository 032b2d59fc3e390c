package restart

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"scv/daemon/process"
	"scv/internal/failpoint"
)

// tryLimit is for a store that takes long to migrate. What hangs is found then.
const tryLimit = 5 * time.Minute

// Tried is what a release says after it was tried (scv preflight).
type Tried struct {
	Version string `json:"version"`
	Schema  uint64 `json:"schema"`
	Failure string `json:"failure,omitzero"` // why it cannot serve; a sentence
}

// ErrReplaced says that what is installed is not what was agreed on.
var ErrReplaced = errors.New("the program was replaced since the restart was agreed")

// Try lets a private copy of the new release migrate a copy of the store and serve it in a home of its own,
// where it touches nothing else. prepare puts the copies of the store and of the settings there. An error
// says why the release does not work.
func (f Folder) Try(ctx context.Context, h Handover, procs *process.Table, environ []string, prepare func(home string) error) error {
	if err := failpoint.Hit(failpoint.RestartTry); err != nil {
		return err
	}
	home, err := os.MkdirTemp(f.path, "try-*") // 0700, on the disk that a migration will need
	if err != nil {
		return fmt.Errorf("cannot try the new release: %w", err)
	}
	defer func() { _ = os.RemoveAll(home) }() // what is left goes with the hand-over
	program := filepath.Join(home, "scv")
	if err := copyAgreed(h, program); err != nil {
		return err
	}
	scratch := filepath.Join(home, "home")
	err = os.Mkdir(scratch, 0o700)
	if err == nil {
		err = prepare(scratch)
	}
	if err != nil {
		return fmt.Errorf("cannot try the new release: %w", err)
	}
	return run(ctx, h, procs, process.Spec{
		Path: program, Args: []string{"preflight", scratch}, Dir: scratch,
		Env: slices.DeleteFunc(Without(environ), func(v string) bool {
			name, _, _ := strings.Cut(v, "=")
			return name == "SCV_HOME" || slices.Contains(notForHeirs, name)
		}),
	})
}

// copyAgreed copies what is installed, if it is what was agreed on.
func copyAgreed(h Handover, to string) error {
	sum, err := CopyProgram(h.Binary, to)
	if err != nil {
		return fmt.Errorf("cannot try the new release: %w", err)
	}
	if sum != h.New.SHA256 {
		return ErrReplaced
	}
	return nil
}

func run(ctx context.Context, h Handover, procs *process.Table, spec process.Spec) error {
	out, exit, err := procs.Output(ctx, spec, tryLimit)
	if err != nil {
		return fmt.Errorf("the new release cannot be tried: %w", err)
	}
	var said Tried
	if err := json.Unmarshal(out, &said); err != nil {
		how := cmp.Or(exit.Signal, fmt.Sprintf("exit code %d", exit.Code))
		return fmt.Errorf("the new release does not work: it was tried on a copy of the store, and ended with %s", how)
	}
	switch {
	case said.Failure != "":
		return fmt.Errorf("the new release does not work on a copy of the store: %s", said.Failure)
	case said.Version != h.New.Version:
		return fmt.Errorf("the new release says that it is %s, and not %s", said.Version, h.New.Version)
	case said.Schema != h.New.Schema:
		return fmt.Errorf("the new release made schema %d of the store, and not %d", said.Schema, h.New.Schema)
	case exit.Code != 0:
		return fmt.Errorf("the new release ended with exit code %d when it was tried", exit.Code)
	}
	return nil
}

// Installed proves that what is installed is what was agreed on, and gives its mark: while that stays, so
// does the proof.
func (h Handover) Installed() (string, error) {
	seen := mark(h.Binary)
	sum, err := HashOf(h.Binary)
	switch {
	case err != nil:
		return "", fmt.Errorf("cannot read the new release: %w", err)
	case sum != h.New.SHA256 || mark(h.Binary) != seen:
		return "", ErrReplaced
	}
	return seen, nil
}

// Unchanged reports whether a mark still holds.
func (h Handover) Unchanged(seen string) bool { return mark(h.Binary) == seen }

// runningHash is kept once it is known: the program of a process stays what it is.
var runningHash atomic.Pointer[string]

// RunningHash is the SHA-256 of the program of this process.
func RunningHash() (string, error) {
	if known := runningHash.Load(); known != nil {
		return *known, nil
	}
	sum, err := HashOf(running())
	if err != nil {
		return "", fmt.Errorf("cannot read our own program: %w", err)
	}
	runningHash.Store(&sum)
	return sum, nil
}

// Agree writes the hand-over of a plan down and keeps the running program.
func (f Folder) Agree(h Handover) error { return f.Begin(h, running()) }

// KeepStore copies the store before it is handed over, where its schema changes. Nobody has it open.
func (f Folder) KeepStore(h Handover) error { return f.keepStore(h) }
