// Package clock is the only door to the time where a time is stored. A wall clock may be stepped and a
// machine may sleep or be switched off; a Stamp keeps enough to measure through all of it.
package clock

import "time"

// Stamp is one reading of the clocks.
type Stamp struct {
	Wall   time.Time     `json:"wall"`       // may jump
	BootID string        `json:"boot_id"`    // names the boot that SinceBoot counts from
	Boot   time.Duration `json:"since_boot"` // nanoseconds since boot; never jumps, counts suspend
}

// Clock reads the time.
type Clock interface{ Now() Stamp }

// UnixSeconds is the wall time in whole seconds, 0 before 1970.
func (s Stamp) UnixSeconds() uint64 { return uint64(max(s.Wall.Unix(), 0)) }

// UnixMillis is the wall time in milliseconds, 0 before 1970.
func (s Stamp) UnixMillis() uint64 { return uint64(max(s.Wall.UnixMilli(), 0)) }

// Zero reports whether the stamp was never taken.
func (s Stamp) Zero() bool { return s.BootID == "" && s.Wall.IsZero() }

// Since is how long ago earlier was: exact within one boot, whatever the wall clock did. Across a
// reboot it is the larger of the wall difference and the time since this boot, never negative.
func (s Stamp) Since(earlier Stamp) time.Duration {
	if s.BootID == earlier.BootID {
		return max(s.Boot-earlier.Boot, 0)
	}
	return max(s.Wall.Sub(earlier.Wall), s.Boot, 0)
}
