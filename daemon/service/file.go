package service

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"scv/internal/durable"
	"scv/internal/failpoint"
)

// Standing is how the file of a unit compares with what would be written now.
type Standing string

// The standings.
const (
	Absent  Standing = "absent"
	Current Standing = "current" // it is what would be written
	Stale   Standing = "stale"   // scv start wrote it, for something else
	Edited  Standing = "edited"  // a person wrote it, or changed it
)

// Installed looks at the file of a unit. differs names what it says otherwise than would be written now.
func Installed(m Manager, w Wanted) (standing Standing, differs []string, err error) {
	want, err := sealed(m, w)
	if err != nil {
		return "", nil, err
	}
	there, err := os.ReadFile(m.File())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Absent, nil, nil
	case err != nil:
		return "", nil, fmt.Errorf("cannot read %q: %w", m.File(), err)
	case string(there) == want:
		return Current, nil, nil
	}
	if differs = differing(m, string(there), want); intact(m, string(there)) {
		return Stale, differs, nil
	}
	return Edited, differs, nil
}

// Install writes the file of a unit.
func Install(m Manager, w Wanted) error {
	text, err := sealed(m, w)
	if err == nil {
		err = write(m.File(), text)
	}
	if err != nil {
		return fmt.Errorf("cannot write %q: %w", m.File(), err)
	}
	return nil
}

// sealed is the file, with a sum of it at its end.
func sealed(m Manager, w Wanted) (string, error) {
	text, err := m.Describe(w)
	if err != nil {
		return "", err
	}
	before, after := m.seal()
	return text + before + sumOf(text) + after, nil
}

// intact reports whether a file is as scv start wrote it, whatever it says.
func intact(m Manager, text string) bool {
	before, after := m.seal()
	i := strings.LastIndex(text, before)
	return i >= 0 && text[i:] == before+sumOf(text[:i])+after
}

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// differing names the parts whose lines are not the same in both.
func differing(m Manager, there, want string) (names []string) {
	for _, p := range m.parts() {
		if !slices.Equal(linesWith(there, p.mark), linesWith(want, p.mark)) {
			names = append(names, p.name)
		}
	}
	return names
}

func linesWith(text, mark string) (lines []string) {
	for line := range strings.Lines(text) {
		if strings.Contains(line, mark) {
			lines = append(lines, line)
		}
	}
	return lines
}

// write replaces a file in one step. It holds no secret, and managers want to read it.
func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // a link that a person has made stays
	}
	return durable.Place(path, failpoint.ServiceFile, 0o644, func(file *os.File) error {
		_, err := file.WriteString(text)
		return err
	})
}
