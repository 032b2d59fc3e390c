package main

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestDaemonDiesWhileARunRegisters: the daemon is killed at any moment of a scv delegate, most of all while it
// puts its run on record. The run answers, or fails in words, and nothing of it is left.
func TestDaemonDiesWhileARunRegisters(t *testing.T) {
	rounds := 6
	if os.Getenv("SCV_LONG") != "" {
		rounds = 200
	}
	home := delegateHome(t)
	if err := os.WriteFile(filepath.Join(filepath.Dir(home), "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	answered, failed := 0, 0
	d := startDaemon(t, home)
	usual := usualTime(t, home)
	for round := range rounds {
		o := delegate(t, home, "answers", "hello")
		time.Sleep(rand.N(usual))
		d.kill()
		d = startDaemon(t, home)
		ended := make(chan error, 1)
		go func() { ended <- o.cmd.Wait() }()
		var err error
		select {
		case err = <-ended:
		case <-time.After(time.Minute):
			t.Fatalf("round %d: it hangs: %s%s\n%s", round, o.out, o.errs, d.log())
		}
		var exit *exec.ExitError
		switch {
		case err == nil && strings.HasSuffix(o.out.String(), "answer to hello\n"):
			answered++
		case errors.As(err, &exit) && exit.ExitCode() > 0 && o.errs.Len() > 0:
			failed++
		default:
			t.Errorf("round %d: %v: %q, %q", round, err, o.out, o.errs)
		}
		entries(t, d.client(t), 20*time.Second, none)
	}
	awaitNoCgroup(t, home)
	d.terminate(t)
	awaitNobody(t, home)
	t.Logf("%d kills within the usual %v: %d answered, %d failed in words", rounds, usual, answered, failed)
}

// usualTime is how long a run takes that nobody disturbs.
func usualTime(t *testing.T, home string) time.Duration {
	t.Helper()
	begin := time.Now()
	if o := delegate(t, home, "answers", "hello"); o.cmd.Wait() != nil {
		t.Fatalf("undisturbed: %s%s", o.out, o.errs)
	}
	return time.Since(begin)
}
