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
// LateTime afterwards), error, full (the error of a disk without room), stall (StallTime) or hang (for good).
// With a "!" at the end it happens in one process only of those that share a file of hits: the first that
// comes there, and with "!k" the k-th. A broken.* name stands alone and holds for the whole life of the process.
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
	turn int // of the one process that it happens in; 0: in each
}

var (
	mu     sync.Mutex
	hits   = map[string]int{}
	plans  = map[string]plan{}
	broken = map[string]bool{}
)

func init() {
	for _, item := range append(strings.Split(os.Getenv(Variable), ","), strings.Split(trailer(), ",")...) {
		item, which, alone := strings.Cut(item, "!")
		point, what, planned := strings.Cut(item, "=")
		if !planned {
			broken[point] = true
			continue
		}
		mode, at, _ := strings.Cut(what, "@")
		n, err := strconv.Atoi(at)
		turn := 0
		if alone {
			turn = 1
		}
		if which != "" && err == nil {
			turn, err = strconv.Atoi(which)
		}
		if err != nil || n < 1 {
			panic("cannot read " + Variable + ": " + item)
		}
		plans[point] = plan{mode, n, turn}
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
	if !now || p.turn > 0 && !isTurn(line, p.turn) {
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
	case "full":
		return fmt.Errorf("failpoint %s: %w", point, syscall.ENOSPC)
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

// passing is what a process writes down that came to a fault before its turn.
const passing = "passing "

// isTurn reports whether a fault is this process's to have: the turn-th that comes to it.
func isTurn(line string, turn int) bool {
	b, _ := os.ReadFile(os.Getenv(HitsVariable)) // there is none before the first
	if strings.Contains("\n"+string(b), "\n"+line+"\n") {
		return false
	}
	if strings.Count(string(b), passing+line+"\n")+1 < turn {
		record(passing + line)
		return false
	}
	return true
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
