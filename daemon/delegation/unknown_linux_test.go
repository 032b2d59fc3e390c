package delegation

import (
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"scv/internal/testexe"
)

// A container may hold a daemon whose home has the same path as ours, and with it the same tags.
func TestRunsOfAContainer(t *testing.T) {
	w := newWorld(t)
	path, args := testexe.Command(testexe.Script{{WriteFile: &testexe.File{Path: w.file("ready")}}, {SleepMillis: forever}})
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Env = []string{"SCV_PARENT=" + w.instance + "/chat-1/fake-00dead"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID}
	if err := cmd.Start(); err != nil {
		t.Skip("cannot make a container: ", err)
	}
	until(t, "it runs", func() bool { return exists(w.file("ready")) })
	view, err := table.Scan()
	must(t, err)
	if found := w.k.stopUnknown(view, nil); found || len(view.Tagged(w.instance, "fake-00dead")) != 1 {
		t.Errorf("taken for ours: %v", found)
	}
	w.k.work.Wait()
	must(t, cmd.Process.Kill()) // fails if it is gone
	_ = cmd.Wait()
}
