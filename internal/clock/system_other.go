//go:build !linux

package clock

import (
	"strconv"
	"sync"
	"time"
)

// System is the machine's clock where no boot clock is known: it counts from the start of this
// process, so across a restart of the daemon only the wall clock measures.
type System struct{}

var started = sync.OnceValue(time.Now)

// Now reads the wall clock and the process's own monotonic one.
func (System) Now() Stamp {
	begin := started()
	return Stamp{Wall: time.Now(), BootID: BootID(), Boot: time.Since(begin)}
}

// BootID names the period that SinceBoot counts from: here this process.
func BootID() string { return "process-" + strconv.FormatInt(started().UnixNano(), 36) }
