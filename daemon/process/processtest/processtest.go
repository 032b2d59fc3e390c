// Package processtest is for the tests of rooms that have real processes: it makes the test what the daemon
// is to its runs, waits for them, and finds what a test left behind.
package processtest

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"scv/daemon/process"
	"scv/internal/testexe"
)

// Limit bounds every wait; it is never used up when all is well.
const Limit = time.Minute

// Begin plays a fake program where the test is started as one, and else makes it a subreaper, as the daemon
// is one. A TestMain begins with it.
func Begin() {
	testexe.Run()
	if err := process.BecomeSubreaper(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Main runs the tests and ends the program. It fails also when a test left a goroutine behind, or a process
// by the finding of left.
func Main(m *testing.M, left func() error) {
	code := m.Run()
	testexe.Tidy()
	if err := errors.Join(left(), goleak.Find()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// Leftovers names the processes below us that are still there, zombies too.
func Leftovers(table *process.Table) error {
	self, selfErr := process.Self()
	view, err := table.Scan()
	err = errors.Join(selfErr, err)
	for _, p := range view.Descendants(self) {
		err = errors.Join(err, fmt.Errorf("left behind: %+v", p))
	}
	return err
}

// Until waits for a condition.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(Limit); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %v in vain: %s", Limit, what)
		}
	}
}
