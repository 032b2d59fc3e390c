package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"scv/wire"
)

// TestAnswerEndsTheAsker: from the owner's word to the end of the script's scv there is one commit, one event
// and one exit: 50 ms, or on a machine that is busy a few times what a commit takes there.
func TestAnswerEndsTheAsker(t *testing.T) {
	const rounds, most = 9, 50 * time.Millisecond
	d := startDaemon(t, newHome(t))
	c := d.client(t)
	var took, commit []time.Duration
	for i := range rounds {
		cmd := exec.Command("scv", "confirm", "Deploy?")
		cmd.Env = append(os.Environ(), "SCV_HOME="+d.home, "GORACE=atexit_sleep_ms=0") // the race detector waits a second at the end
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		until(t, "it is asked", func() bool { return open(t, c) == 1 })
		said := time.Now()
		if _, err := c.ChatSend(t.Context(), wire.ChatSend{Account: "default", ID: fmt.Sprint("m", i), Text: "yes"}); err != nil {
			t.Fatal(err)
		}
		commit = append(commit, time.Since(said))
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(said))
	}
	slices.Sort(took)
	slices.Sort(commit)
	t.Logf("median %s, of that until the answer was kept %s", took[rounds/2], commit[rounds/2])
	if limit := max(most, 10*commit[rounds/2]); took[rounds/2] > limit {
		t.Errorf("%s from the answer to the exit, more than %s: %v", took[rounds/2], limit, took)
	}
	d.terminate(t)
}
