package delegation

import (
	"context"
	"testing"
	"time"

	"scv/daemon/process"
	"scv/internal/testexe"
	"scv/store"
)

// A new leader has no environment in the middle of its exec. It is looked at again, and not for long.
func TestLeaderInTheMiddleOfItsExec(t *testing.T) {
	w := newWorld(t)
	const handle = "fake-000001"
	must(t, w.k.Register(t.Context(), w.k.o.Self, handle, placed(w.k)))
	tag := w.k.Environment(handle, placed(w.k))["SCV_PARENT"]
	path, args := testexe.Command(testexe.Script{
		{WaitFile: w.file("go")}, {SetEnv: "SCV_PARENT=" + tag}, {Exec: testexe.Script{{SleepMillis: forever}}},
	})
	child, err := table.Spawn(process.Spec{Path: path, Args: args, Env: []string{"A=b"}})
	must(t, err)
	t.Cleanup(func() {
		_, err := table.Stop(context.Background(), process.Run{Leader: child.ID(), Group: child.ID().PID})
		must(t, err)
		_, err = child.Wait()
		must(t, err)
		must(t, w.k.Reported(context.Background(), handle))
	})
	attach := func() error { return w.k.Attach(within(t), w.k.o.Self, handle, child.ID().PID) }
	if attach() == nil {
		t.Fatal("a process without the tag was taken for the leader")
	}
	usual := unseen
	defer func() { unseen = usual }()
	unseen = make([]time.Duration, 1000)
	for i := range unseen {
		unseen[i] = 20 * time.Millisecond
	}
	must(t, writeFile(w.file("go")))
	if err := attach(); err != nil {
		t.Error(err)
	}
	if d, _ := w.record(handle); d.State != store.RunLive || !process.ID(d.Leader).Is(child.ID()) {
		t.Errorf("%+v", d)
	}
}
