package clock

import (
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// System is the machine's own clock: CLOCK_BOOTTIME counts suspend, the kernel names each boot.
type System struct{}

var bootID = sync.OnceValue(func() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown-boot"
	}
	return strings.TrimSpace(string(b))
})

// Now reads both clocks.
func (System) Now() Stamp {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic("cannot read CLOCK_BOOTTIME: " + err.Error()) // the kernel always has it
	}
	return Stamp{Wall: time.Now(), BootID: bootID(), Boot: time.Duration(ts.Nano())}
}

// BootID names the running boot.
func BootID() string { return bootID() }
