package delegation

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"scv/internal/testexe"
	"scv/store"
)

// reads is how many reads this process has asked the kernel for so far.
func reads(t *testing.T) (n int) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/io")
	must(t, err)
	_, after, _ := strings.Cut(string(text), "syscr: ")
	_, err = fmt.Sscan(after, &n)
	must(t, err)
	return n
}

// One look at the processes serves all runs: a whole pass over thirty reads about as much as a look for one.
func TestOneLookServesAllRuns(t *testing.T) {
	w := newWorld(t)
	const many = 30
	for i := range many {
		w.start(numbered(i), testexe.Step{SleepMillis: forever})
	}
	w.pass() // the ties are on record now
	rows, err := w.k.rows()
	must(t, err)
	cost := func(look func() error) int {
		before := reads(t)
		must(t, look())
		return reads(t) - before
	}
	one := cost(func() error { return lookFor(w.k, rows[:1]) })
	all := cost(func() error { w.k.Pass(context.Background()); return nil })
	if len(rows) != many || one < many || all > 2*one {
		t.Errorf("%d runs: %d reads for one run, %d for a whole pass", len(rows), one, all)
	}
}

func lookFor(k *Keeper, rows []store.DelegationRow) error {
	_, _, err := k.look(rows)
	return err
}
