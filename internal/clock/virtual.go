package clock

import (
	"sync"
	"time"
)

// Virtual is a clock for tests. Its boot clock follows time.Now, so that it runs with the false time
// of a synctest bubble; its wall clock can be stepped and the machine rebooted.
type Virtual struct {
	mu     sync.Mutex
	start  time.Time
	boot   string
	offset time.Duration // added to the wall clock
	slept  time.Duration // added to the boot clock: suspend
}

// NewVirtual starts a clock at the present (in a bubble: at its false present).
func NewVirtual() *Virtual { return &Virtual{start: time.Now(), boot: "boot-1"} }

// Now reads the clock.
func (v *Virtual) Now() Stamp {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	return Stamp{
		Wall:   now.Add(v.offset + v.slept).Round(0),
		BootID: v.boot,
		Boot:   now.Sub(v.start) + v.slept,
	}
}

// Step moves the wall clock only.
func (v *Virtual) Step(d time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.offset += d
}

// Suspend lets d pass on both clocks while no timer fires.
func (v *Virtual) Suspend(d time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.slept += d
}

// Reboot begins a new boot; the wall clock goes on.
func (v *Virtual) Reboot(name string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.boot, v.start, v.offset, v.slept = name, time.Now(), v.offset+v.slept, 0
}
