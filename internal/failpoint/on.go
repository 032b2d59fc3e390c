//go:build failpoints

package failpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Variable tells this build what to do: "point=mode@n", several joined by commas. The mode happens
// at the n-th hit of the point, counted from 1, and only there: crash (SIGKILL to ourselves), error,
// or stall (StallTime). A broken.* name stands alone and holds for the whole life of the process.
const Variable = "SCV_FAILPOINTS"

// StallTime is how long a stalled point waits.
const StallTime = 3 * time.Second

// HitsVariable names a file to which each planned fault adds a line when it happens.
const HitsVariable = "SCV_FAILPOINTS_HITS"

type plan struct {
	mode string
	at   int
}

var (
	mu     sync.Mutex
	hits   = map[string]int{}
	plans  = map[string]plan{}
	broken = map[string]bool{}
)

func init() {
	for _, item := range strings.Split(os.Getenv(Variable), ",") {
		point, what, planned := strings.Cut(item, "=")
		if !planned {
			broken[point] = true
			continue
		}
		mode, at, _ := strings.Cut(what, "@")
		n, err := strconv.Atoi(at)
		if err != nil || n < 1 {
			panic("cannot read " + Variable + ": " + item)
		}
		plans[point] = plan{mode, n}
	}
}

// Hit fails here if it was planned.
func Hit(point string) error {
	mu.Lock()
	hits[point]++
	p, planned := plans[point]
	now := planned && hits[point] == p.at
	mu.Unlock()
	if !now {
		return nil
	}
	record(point + "=" + p.mode)
	switch p.mode {
	case "crash":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "stall":
		time.Sleep(StallTime)
		return nil
	}
	return fmt.Errorf("failpoint %s: planned error", point)
}

// Broken reports whether a promise is broken on purpose.
func Broken(what string) bool { return broken[what] }

func record(line string) {
	f, err := os.OpenFile(os.Getenv(HitsVariable), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return // nobody wants to know
	}
	defer f.Close()
	_, _ = f.WriteString(line + "\n")
}
