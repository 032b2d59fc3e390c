package process

import (
	"os"
	"testing"

	"scv/internal/testexe"
)

// Children that are waited for take no thread each.
func TestWaitsTakeNoThreads(t *testing.T) {
	const children = 60
	dir := t.TempDir()
	before := threads(t)
	ended := make(chan Exit, children)
	for range children {
		c := spawn(t, Spec{}, testexe.Script{{WaitFile: dir + "/go"}, {Exit: testexe.Code(7)}})
		go func() {
			exit, err := c.Exited()
			if err != nil {
				t.Error(err)
			}
			ended <- exit
		}()
	}
	if more := threads(t) - before; more > children/2 {
		t.Errorf("%d threads more for %d children", more, children)
	}
	touch(t, dir+"/go")
	for range children {
		if exit := <-ended; exit.Code != 7 {
			t.Errorf("%+v", exit)
		}
	}
}

// threads is how many this process has.
func threads(t *testing.T) int {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	return len(tasks)
}
