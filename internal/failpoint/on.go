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
// at the n-th hit of the point, counted from 1, and only there: crash (SIGKILL to ourselves), late (the same,
// LateTime afterwards), error, stall (StallTime) or hang (for good). With a "!" at the end it happens in one
// process only of those that share a file of hits. A broken.* name stands alone and holds for the whole life
// of the process.
const Variable = "SCV_FAILPOINTS"

// StallTime is how long a stalled point waits.
const StallTime = 3 * time.Second

// LateTime is how long a late crash waits.
const LateTime = 3 * time.Second

// HitsVariable names a file to which each planned fault adds a line when it happens.
const HitsVariable = "SCV_FAILPOINTS_HITS"

type plan struct {
	mode string
	at   int
	once bool
}

var (
	mu     sync.Mutex
	hits   = map[string]int{}
	plans  = map[string]plan{}
	broken = map[string]bool{}
)

func init() {
	for _, item := range append(strings.Split(os.Getenv(Variable), ","), strings.Split(trailer(), ",")...) {
		item, once := strings.CutSuffix(item, "!")
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
		plans[point] = plan{mode, n, once}
	}
}

// Hit fails here if it was planned.
func Hit(point string) error {
	mu.Lock()
	hits[point]++
	p, planned := plans[point]
	now := planned && hits[point] == p.at
	mu.Unlock()
	line := point + "=" + p.mode
	if !now || p.once && recorded(line) {
		return nil
	}
	record(line)
	switch p.mode {
	case "crash":
		die()
	case "late":
		time.AfterFunc(LateTime, die)
		return nil
	case "hang":
		select {}
	case "stall":
		time.Sleep(StallTime)
		return nil
	}
	return fmt.Errorf("failpoint %s: planned error", point)
}

func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// trailer is what stands at the end of the program's own file.
func trailer() string {
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		return ""
	}
	defer f.Close()
	tail := make([]byte, 1024)
	if info, err := f.Stat(); err == nil {
		_, _ = f.ReadAt(tail, info.Size()-int64(len(tail)))
	}
	at := strings.LastIndex(string(tail), Trailer)
	if at < 0 {
		return ""
	}
	return string(tail[at+len(Trailer):])
}

// recorded reports whether a fault has happened already, in any process.
func recorded(line string) bool {
	b, err := os.ReadFile(os.Getenv(HitsVariable))
	return err == nil && strings.Contains(string(b), line+"\n")
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
