package restart

import (
	"bytes"
	"os"
	"time"

	"github.com/go-json-experiment/json"

	"scv/internal/clock"
)

// Phase is what a release on probation is at.
type Phase string

// The phases.
const (
	Starting  Phase = "starting"
	Migrating Phase = "migrating" // which may take long
	Serving   Phase = "serving"
)

// Beat is a sign of life.
type Beat struct {
	PID     int    `json:"pid"`
	Version string `json:"version"`
	Phase   Phase  `json:"phase"`
	BootID  string `json:"boot_id"`
	Boot    int64  `json:"since_boot"` // nanoseconds
}

// At is when it was given.
func (b Beat) At() clock.Stamp {
	return clock.Stamp{BootID: b.BootID, Boot: time.Duration(b.Boot)}
}

// writeBeat writes in place, so that it needs no room on the disk. It is not synced: it tells of a process
// that lives, to one that lives.
func (f Folder) writeBeat(b Beat) error {
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	whole := make([]byte, len(blank))
	copy(whole, text)
	file, err := os.OpenFile(f.join(fileBeat), os.O_WRONLY, 0) // never made: it comes and goes with the hand-over
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.WriteAt(whole, 0)
	return err
}

// readBeat is the last sign of life. One that is just being written is none.
func (f Folder) readBeat() (b Beat, ok bool) {
	text, err := os.ReadFile(f.join(fileBeat))
	if err != nil {
		return b, false
	}
	err = json.Unmarshal(bytes.TrimRight(text, "\x00"), &b)
	return b, err == nil && b.PID != 0
}

// age is how old a beat is.
func (b Beat) age(now clock.Stamp) time.Duration { return now.Since(b.At()) }
