package main

import (
	"testing"
	"time"

	"scv/wire"
)

// TestCountersNeverGoBack: what a daemon has counted stays counted while it lives, whoever asks and whatever comes
// in between.
func TestCountersNeverGoBack(t *testing.T) {
	t.Parallel()
	home := newHome(t)
	leaveOrphan(t, home)
	d := startDaemon(t, home)
	c, m := d.client(t), newModel(home)
	ask := func(command wire.Command) wire.DaemonStatus {
		status, err := m.control(t.Context(), c, command)
		if err != nil {
			t.Fatal(err)
		}
		return status
	}
	for deadline := time.Now().Add(30 * time.Second); ask(wire.StatusCommand{}).Delegations.Reaped == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the orphan was not counted\n%s", d.log())
		}
	}
	for range 5 {
		ask(wire.DelegationsCommand{All: true})
		ask(wire.ReloadCommand{})
		ask(wire.StatusCommand{})
	}
	d.hold(t, complaints{m.backwards})
	d.terminate(t)
}
