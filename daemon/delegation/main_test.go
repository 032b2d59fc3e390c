package delegation

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"scv/daemon/process"
	"scv/daemon/process/processtest"
)

// table is what the tests spawn with and look at processes by.
var table = process.NewTable()

// cgroups is where runs get their own, "" where this machine lets us make none.
var cgroups process.Cgroups

// TestMain makes the test a subreaper, as the daemon is one, and fails when a test leaves a process or a
// goroutine behind.
func TestMain(m *testing.M) {
	processtest.Begin()
	if os.Getenv("SCV_TEST_NO_CGROUPS") == "" {
		cgroups, _ = process.FindCgroups()
	}
	if kind, isCrowd := os.LookupEnv(crowdMode); isCrowd {
		os.Exit(crowded(kind))
	}
	if step, isOwner := os.LookupEnv(ownerMode); isOwner {
		if err := beOwner(step, os.Args[1], os.Args[2], os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	processtest.Main(m, leftovers)
}

// leftovers names also the cgroups of runs.
func leftovers() error {
	err := processtest.Leftovers(table)
	for _, instance := range instances {
		handles, cerr := cgroups.Handles(instance)
		if err = errors.Join(err, cerr); len(handles) > 0 {
			err = errors.Join(err, fmt.Errorf("left behind: the cgroups of %v", handles))
		}
	}
	return err
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const limit = processtest.Limit

var until = processtest.Until

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// pidIn waits for the pid that a fake program writes, and identifies it.
func pidIn(t testing.TB, file string) process.ID {
	t.Helper()
	until(t, "a pid in "+filepath.Base(file), func() bool { return exists(file) })
	text, err := os.ReadFile(file)
	must(t, err)
	pid, err := strconv.Atoi(string(text))
	must(t, err)
	id, err := process.Lookup(pid)
	must(t, err)
	return id
}

// done waits for the end of a run.
func done(t testing.TB, r *Run) {
	t.Helper()
	select {
	case <-r.Done():
	case <-time.After(limit):
		t.Fatal("the run does not end")
	}
}

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

const forever = 60_000 // milliseconds; every fake program ends by itself well after a test

// anyAlive reports whether one of the processes runs.
func anyAlive(ids ...process.ID) bool { return slices.ContainsFunc(ids, process.ID.Alive) }
