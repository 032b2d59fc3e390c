package delegation

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"scv/daemon/process"
	"scv/internal/testexe"
)

// The store was replaced while agents ran: what they left is stopped. What is another instance's, or is
// just being started, is not.
func TestUnknownRuns(t *testing.T) {
	w := newWorld(t)
	var logs bytes.Buffer
	w.open(func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&logs, nil)) })
	tagged := func(name, tag string) *process.Child {
		path, args := testexe.Command(testexe.Script{
			{Spawn: &testexe.Spawn{Setsid: true, Script: testexe.Script{{WritePID: w.file(name)}, {SleepMillis: forever}}}}, {SleepMillis: forever},
		})
		c, err := table.Spawn(process.Spec{Path: path, Args: args, Env: []string{"SCV_PARENT=" + tag}})
		must(t, err)
		child := pidIn(t, w.file(name))
		t.Cleanup(func() {
			_, err := table.Stop(context.Background(), process.Run{Leader: c.ID(), Group: c.ID().PID, Known: []process.ID{child}})
			must(t, err)
			_, err = c.Wait()
			must(t, err)
		})
		return c
	}
	lost := tagged("lost", w.instance+"/chat-1/fake-00dead")
	other := tagged("other", "x"+w.instance+"/chat-1/fake-00dead")
	child := pidIn(t, w.file("lost"))
	known := w.start("fake-000001", testexe.Step{SleepMillis: forever})
	w.pass()
	if anyAlive(lost.ID(), child) || !other.ID().Alive() || !known.child.ID().Alive() {
		t.Errorf("the lost run lives: %v; another instance's: %v; the known one: %v", anyAlive(lost.ID(), child), other.ID().Alive(), known.child.ID().Alive())
	}
	if text := logs.String(); !strings.Contains(text, "handle=fake-00dead") || !strings.Contains(text, "pid="+strings.TrimPrefix(child.String(), "process ")) {
		t.Errorf("logged: %s", text)
	}
}

// The first pass of a quiet daemon looks for them, and passes go on until they are gone.
func TestUnknownRunAtStart(t *testing.T) {
	w := newWorld(t)
	path, args := testexe.Command(testexe.Script{{IgnoreTerm: true}, {WritePID: w.file("lost")}, {SleepMillis: forever}})
	c, err := table.Spawn(process.Spec{Path: path, Args: args, Env: []string{"SCV_PARENT=" + w.instance + "/chat-1/fake-00dead"}})
	must(t, err)
	pidIn(t, w.file("lost"))
	w.k.Pass(context.Background())
	if before := w.k.activity(); before.quiet {
		t.Error("passes end with a run to look at")
	}
	w.k.work.Wait()
	exit, err := c.Wait()
	must(t, err)
	if exit.Signal != "SIGKILL" {
		t.Errorf("ended by %+v", exit)
	}
	w.pass()
	if before := w.k.activity(); !before.quiet {
		t.Error("passes go on with nothing to look at")
	}
}

// A pass read the records before a run was begun and the processes after: it is on record by then.
func TestUnknownOnlyToAnOldList(t *testing.T) {
	w := newWorld(t)
	r := w.start("fake-000001", testexe.Step{SleepMillis: forever})
	w.open() // as if it were another process's: this keeper owns it not
	view, err := table.Scan()
	must(t, err)
	w.k.stopUnknown(view, nil)
	w.k.work.Wait()
	if !r.child.ID().Alive() {
		t.Error("a recorded run was stopped as unknown")
	}
}

// A daemon that was itself started by a run of its own home: what it starts carries that run's name too.
func TestRunsAroundUs(t *testing.T) {
	w := newWorld(t)
	outer := w.instance + "/chat-0/fake-000000"
	w.open(func(o *Options) { o.Parent = outer })
	r := w.start("fake-000001", testexe.Step{SleepMillis: forever})
	w.pass()
	if !r.child.ID().Alive() {
		t.Error("our own run was stopped for the sake of the run that we are in")
	}
}
