package process

import (
	"os"
	"os/exec"
	"sync"
	"testing"
)

// Many short children, each of which also leaves an orphan to us, while a sweep never pauses: every
// status reaches its owner, every orphan is reaped, and nothing is held open.
func TestSweepNeverTakesAStatus(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh")
	}
	before := descriptors(t)
	done := make(chan struct{})
	var sweep sync.WaitGroup
	reaped := 0
	sweep.Go(func() {
		for {
			view, err := table.Scan()
			if err != nil {
				t.Error(err)
				return
			}
			reaped += len(table.ReapAdopted(view))
			select {
			case <-done:
				return
			default:
			}
		}
	})
	const workers, each = 4, 75
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for range each {
				c, err := table.Spawn(Spec{Path: sh, Args: []string{"-c", "(: &); exit 7"}, StdinPipe: true})
				if err != nil {
					t.Error(err)
					return
				}
				if exit, err := c.Wait(); err != nil || exit.Code != 7 {
					t.Errorf("%+v, %v", exit, err)
				}
			}
		})
	}
	all.Wait()
	close(done)
	sweep.Wait()
	until(t, "no child is left", func() bool {
		view := scan(t)
		reaped += len(table.ReapAdopted(view))
		return len(scan(t).children[os.Getpid()]) == 0
	})
	if reaped < workers*each/2 {
		t.Errorf("only %d orphans were ours to reap: the test tests nothing", reaped)
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

// What one table has spawned is no orphan to another one of the same process, dead or alive.
func TestTablesKnowEachOthersChildren(t *testing.T) {
	c, err := NewTable().Spawn(Spec{Path: "/bin/sh", Args: []string{"-c", "read line; exit 7"}, StdinPipe: true})
	if err != nil {
		t.Fatal(err)
	}
	other := NewTable()
	look := func() View {
		view, err := other.Scan()
		if err != nil {
			t.Fatal(err)
		}
		return view
	}
	if adopted := other.Adopted(look()); len(adopted) > 0 {
		t.Errorf("it lives, and looks adopted: %+v", adopted)
	}
	if err := c.Stdin().Close(); err != nil {
		t.Fatal(err)
	}
	var view View
	until(t, "a zombie", func() bool { view = look(); p, _ := view.Find(c.ID()); return p.Zombie() })
	if reaped := other.ReapAdopted(view); len(reaped) > 0 {
		t.Errorf("reaped by another: %v", reaped)
	}
	if exit, err := c.Wait(); err != nil || exit.Code != 7 {
		t.Errorf("%+v, %v", exit, err)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(fds)
}
