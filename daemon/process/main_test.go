package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"scv/internal/testexe"
)

// table is what the tests spawn with and look at processes by.
var table = NewTable()

// TestMain makes the test a subreaper, as every SCV process that owns runs is one, and fails when a
// test leaves a process or a goroutine behind.
func TestMain(m *testing.M) {
	testexe.Run()
	if err := BecomeSubreaper(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	testexe.Tidy()
	if err := errors.Join(leftovers(), goleak.Find()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// leftovers names the children that are still there, zombies too. As a subreaper we have them all.
func leftovers() error {
	view, err := table.Scan()
	if err != nil {
		return err
	}
	for _, pid := range view.children[view.self] {
		err = errors.Join(err, fmt.Errorf("left behind: %+v", view.procs[pid]))
	}
	return err
}

const limit = 10 * time.Second // of every wait; it is never used up when all is well

// until waits for a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %v in vain: %s", limit, what)
		}
	}
}

// pidIn waits for the pid that a fake program writes, and identifies it.
func pidIn(t *testing.T, file string) ID {
	t.Helper()
	var id ID
	until(t, "a pid in "+filepath.Base(file), func() bool {
		text, err := os.ReadFile(file)
		if err != nil {
			return false
		}
		pid, err := strconv.Atoi(string(text))
		if err != nil {
			t.Fatal(err)
		}
		id, err = Lookup(pid)
		return err == nil
	})
	return id
}

// spawn starts a fake program and waits for it at the end of the test, ending all of it if need be.
func spawn(t *testing.T, spec Spec, script testexe.Script) *Child {
	t.Helper()
	spec.Path, spec.Args = testexe.Command(script)
	c, err := table.Spawn(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop(t, Run{Leader: c.ID(), Group: c.ID().PID})
		if _, err := c.Wait(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// stop stops a run and expects that nothing is left of it.
func stop(t *testing.T, run Run) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	left, err := table.Stop(ctx, run)
	if err != nil || len(left) > 0 {
		t.Errorf("Stop: survivors %v, error %v", left, err)
	}
}

func scan(t *testing.T) View {
	t.Helper()
	view, err := table.Scan()
	if err != nil {
		t.Fatal(err)
	}
	return view
}

const forever = 60_000 // milliseconds; every fake program ends by itself well after a test

func touch(t *testing.T, file string) {
	t.Helper()
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}
