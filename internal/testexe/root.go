package testexe

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// This file ties all that a test starts to the test: a run of tests that is killed, or given up by go test, must
// leave nothing behind. The outermost test binary is the root. Test binaries that are started again know it
// by their environment, fake programs by their arguments, and each ends when it is gone.

// RootVariable is for who gives a part of the test an environment of its own. It is never among what an agent is given.
const RootVariable = "SCV_TESTEXE_ROOT"

// RaceVariable is the race detector's. Each program built with it waits a second at its end for last reports, which
// hundreds of short ones have no time for.
const RaceVariable = "GORACE"

const (
	rootLook  = 500 * time.Millisecond // between looks at the root
	rootGrace = 15 * time.Second       // for a daemon to stop its runs
)

var root = os.Getpid()

// takeRoot learns who the root is, and follows it where that is another process.
func takeRoot() {
	if pid, err := strconv.Atoi(os.Getenv(RootVariable)); err == nil {
		root = pid
		follow(terminate)
		return
	}
	err := os.Setenv(RootVariable, strconv.Itoa(root))
	if os.Getenv(RaceVariable) == "" {
		err = errors.Join(err, os.Setenv(RaceVariable, "atexit_sleep_ms=20"))
	}
	if err != nil {
		panic("cannot tell what tests start about the test: " + err.Error())
	}
}

// rootOf is the root that a marker names, 0 for one that was written by hand.
func rootOf(word string) int {
	_, pid, _ := strings.Cut(word, ":")
	n, _ := strconv.Atoi(pid)
	return n
}

// follow ends this process once the root is gone. One that cannot see it, in a pid namespace of its own, has its
// lifetime.
func follow(end func()) {
	if root <= 1 || root == os.Getpid() || gone(root) {
		return
	}
	go func() {
		for !gone(root) {
			time.Sleep(rootLook)
		}
		end()
	}()
}

func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// terminate has a daemon stop its runs, and everything else end.
func terminate() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
	time.Sleep(rootGrace)
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
}
