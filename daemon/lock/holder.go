package lock

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"scv/daemon/process"
	"scv/internal/clock"
)

// Role is what a holder does with the lock.
type Role string

// The roles.
const (
	Daemon  Role = "daemon"   // it serves
	StandIn Role = "stand-in" // it serves because nobody else did, and makes room for a daemon that is started
	Guard   Role = "guard"    // it puts an old release back
	Tool    Role = "tool"     // it works on the store
)

// Holder is what the lock says of who holds it.
type Holder struct {
	PID   int
	Start uint64 // as process.ID.Start; 0: not told
	Role  Role   // "": not told
	Image string // the first 12 hex digits of the SHA-256 of the program that it runs or goes over to; "": not told
	Back  bool   // that program is one that a restart went back to
}

const (
	lineSize = 64
	saysBack = "back"
)

// line is the holder as it stands in the lock: blanks up to the end of the line.
func (h Holder) line() []byte {
	back := ""
	if h.Back {
		back = saysBack
	}
	words := fmt.Sprintf("%d %d %s %s %s", h.PID, h.Start, orDash(string(h.Role)), orDash(h.Image), orDash(back))
	return fmt.Appendf(nil, "%-*s\n", lineSize-1, words)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func fromDash(s string) string {
	if s == "-" {
		return ""
	}
	return s
}

// Read tells who is written into the lock of a home, whether he holds it still or not.
func Read(path string) (Holder, error) {
	f, err := os.Open(path)
	if err != nil {
		return Holder{}, fmt.Errorf("cannot read lock %q: %w", path, err)
	}
	defer f.Close()
	return read(f), nil
}

// read is the zero Holder while the line is being written for the first time.
func read(f *os.File) Holder {
	b := make([]byte, lineSize)
	n, _ := f.ReadAt(b, 0) // a short line says less
	words := strings.Fields(string(b[:n]))
	var h Holder
	for i, word := range words {
		switch i {
		case 0:
			h.PID, _ = strconv.Atoi(word)
		case 1:
			h.Start, _ = strconv.ParseUint(word, 10, 64)
		case 2:
			h.Role = Role(fromDash(word))
		case 3:
			h.Image = fromDash(word)
		case 4:
			h.Back = word == saysBack
		}
	}
	return h
}

func (h Holder) pid() string {
	if h.PID == 0 {
		return "unknown"
	}
	return strconv.Itoa(h.PID)
}

// id names the holder's process. Who holds a lock lives in this boot.
func (h Holder) id() process.ID { return process.ID{PID: h.PID, Start: h.Start, Boot: clock.BootID()} }

// Alive reports whether the process that is written there lives.
func (h Holder) Alive() bool {
	if h.Start != 0 {
		return h.id().Alive()
	}
	id, err := process.Lookup(h.PID)
	return !errors.Is(err, os.ErrProcessDone) && (err != nil || id.Alive())
}

// patience is how long to wait for a lock with this holder.
func (h Holder) patience(asked bool) time.Duration {
	switch {
	case h.PID == 0:
		return 0 // it is being written: a daemon starts
	case asked || h.Role == Guard:
		return passing
	case !h.Alive():
		return leftBehind
	}
	return 0
}

// Own is what this process writes into the lock.
func Own(self process.ID, role Role, image string) Holder {
	return Holder{PID: self.PID, Start: self.Start, Role: role, Image: image[:min(len(image), imageDigits)]}
}

const imageDigits = 12

// Runs reports whether the holder runs, or goes over to, the program with this SHA-256.
func (h Holder) Runs(sha256 string) bool {
	return h.Image != "" && strings.HasPrefix(sha256, h.Image)
}
