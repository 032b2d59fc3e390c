package restart_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"scv/internal/failpoint"
	"scv/internal/testexe"
	"scv/wire"
)

// TestChangedDuringTheWait: what is installed when the time has come is not what was agreed on. The old release
// goes on, says why, and takes the next one.
func TestChangedDuringTheWait(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(t *testing.T, s *site)
		why    string
	}{
		{"replaced", func(t *testing.T, s *site) { s.install(withFaults(t, program(t, secondRelease), "broken.nothing")) }, "was replaced since the restart was agreed"},
		{"deleted", func(t *testing.T, s *site) { must(t, os.Remove(s.binary)) }, "cannot read the new release"},
		{"a pipe by now", func(t *testing.T, s *site) { pipe(t, s.binary) }, "cannot read the new release"},
		{"not executable any more", func(t *testing.T, s *site) { must(t, os.Chmod(s.binary, 0o644)) }, "permission denied"},
		{"still written to", func(t *testing.T, s *site) {
			f, err := os.OpenFile(s.binary, os.O_WRONLY, 0)
			must(t, err)
			t.Cleanup(func() { f.Close() })
		}, "text file busy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			second := program(t, secondRelease)
			s := newSite(t, program(t, firstRelease), "bin/scv")
			s.startAlone()
			pid := s.serves("1.0.0")
			end := s.busy()
			s.install(second)
			s.mustAsk()
			if status, err := s.status(); err != nil || status.Restart == nil || status.Restart.WaitingFor == nil {
				t.Fatalf("it does not wait: %+v, %v", status.Restart, err)
			}
			c.change(t, s)
			end()
			begin := time.Now()
			if got := s.settled("1.0.0"); got != pid {
				t.Errorf("the pid was %d and is %d", pid, got)
			}
			t.Logf("settled after %s", time.Since(begin))
			s.oneOutcome(false, c.why)
			s.install(second)
			s.mustAsk()
			s.settled("2.0.0")
		})
	}
}

// TestFiveRequestsInOneSecond make one plan with one outcome.
func TestFiveRequestsInOneSecond(t *testing.T) {
	t.Parallel()
	s := newSite(t, program(t, firstRelease), "bin/scv")
	s.startAlone()
	pid := s.serves("1.0.0")
	end := s.busy()
	s.install(program(t, secondRelease))
	answers := make(chan error, 5)
	for range cap(answers) {
		go func() { answers <- s.ask() }()
	}
	planned := 0
	for range cap(answers) {
		var refused *wire.Error
		switch err := <-answers; {
		case err == nil:
			planned++
		case !errors.As(err, &refused) || !strings.Contains(refused.Text, "is being examined"):
			t.Errorf("a request: %v", err)
		}
	}
	if planned == 0 {
		t.Error("none was taken on")
	}
	id := s.plan()
	if err := s.ask(); err != nil || s.plan() != id {
		t.Errorf("the plan was %s and is %s, %v", id, s.plan(), err)
	}
	end()
	if got := s.settled("2.0.0"); got != pid {
		t.Errorf("the pid was %d and is %d", pid, got)
	}
	s.oneOutcome(true, "SCV now runs 2.0.0")
	s.tellsOnce("SCV now runs 2.0.0")
}

// TestANewerRequestTakesThePlace of one that waits, also of one whose release is being tried just then.
func TestANewerRequestTakesThePlace(t *testing.T) {
	for _, c := range []struct {
		name   string
		faults []string
	}{
		{"that waits", nil},
		{"that is being tried", []string{failpoint.RestartTry + "=stall@1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, withFaults(t, program(t, firstRelease), c.faults...), "bin/scv")
			s.startAlone()
			pid := s.serves("1.0.0")
			end := func() {}
			if c.faults == nil {
				end = s.busy()
			}
			s.install(program(t, secondRelease))
			s.mustAsk()
			id := s.plan()
			if c.faults != nil {
				s.await("it is tried", func() bool { return strings.Contains(tailOf(s.hits, 9), failpoint.RestartTry) })
			}
			s.install(withFaults(t, program(t, firstRelease), "broken.nothing")) // another program, of another version
			s.mustAsk()
			if s.plan() == id {
				t.Fatal("it is the same plan")
			}
			end()
			s.await("it is settled", func() bool { return s.idle() && len(s.outcomes()) == 2 })
			if got := s.serves("1.0.0"); got != pid {
				t.Errorf("the pid was %d and is %d", pid, got)
			}
			counts := map[string]int{}
			for _, o := range s.outcomes() {
				counts[o.Outcome]++
			}
			if counts["Another request took its place."] != 1 || counts["SCV now runs 1.0.0 (c1)."] != 1 {
				t.Errorf("the outcomes are %v", counts)
			}
		})
	}
}

// idle reports whether nothing is under way.
func (s *site) idle() bool {
	status, err := s.status()
	return err == nil && status.Restart == nil
}

// TestARunThatAsksAndWaits: the restart waits for the very run that asked for it, says so, and goes ahead at the
// deadline. The run is one of those that go on through it, and hears the outcome.
func TestARunThatAsksAndWaits(t *testing.T) {
	t.Parallel()
	first := program(t, firstRelease)
	s := newSite(t, first, "bin/scv")
	s.configure("[agents.asker]\ncommand = [\"sh\", \"-c\", \"cat >/dev/null; exec '" + first + "' --home '" + s.home +
		"' restart --when-idle --max-wait 2s --wait\"]\nprompt = \"stdin\"\n")
	s.startAlone()
	pid := s.serves("1.0.0")
	s.install(program(t, secondRelease))
	s.busy()
	var plan wire.RestartInfo
	s.await("it is planned", func() bool {
		status, err := s.status()
		if err == nil && status.Restart != nil && status.Restart.WaitingFor != nil {
			plan = *status.Restart
		}
		return plan.Requester != nil
	})
	if *plan.WaitingFor != *plan.Requester+" to finish" {
		t.Errorf("it waits for %q, and %q has asked", *plan.WaitingFor, *plan.Requester)
	}
	s.await("the new release serves", func() bool {
		status, err := s.status()
		return err == nil && status.Version == "2.0.0"
	})
	deadline := time.Unix(int64(plan.DeadlineUnixSeconds), 0)
	if late := time.Since(deadline); late < 0 {
		t.Errorf("it restarted %s before the deadline", -late)
	} else {
		t.Logf("the new release serves %s after the deadline, which is told in whole seconds", late)
	}
	if got := s.settled("2.0.0"); got != pid {
		t.Errorf("the pid was %d and is %d", pid, got)
	}
	s.oneOutcome(true, "SCV now runs 2.0.0")
	s.await("the run is told, and the owner", func() bool { return s.said("SCV now runs 2.0.0") == 2 })
}

// TestADeadlineCutsALiveAgent that is in the middle of a turn, and the outcome names it.
func TestADeadlineCutsALiveAgent(t *testing.T) {
	t.Parallel()
	s := newSite(t, program(t, firstRelease), "bin/scv")
	path, args := testexe.Command(testexe.Script{{ACP: &testexe.ACP{Turns: [][]testexe.ACPStep{
		{{Do: &testexe.Step{WriteFile: &testexe.File{Path: filepath.Join(s.root, "began")}}}, {Do: &testexe.Step{SleepMillis: 60_000}}},
	}}}})
	s.configure("[agents.live]\ndriver = \"acp\"\ncommand = ['''" + strings.Join(append([]string{path}, args...), "''', '''") + "''']\n")
	s.startAlone()
	pid := s.serves("1.0.0")
	s.busy()
	s.await("the turn has begun", func() bool {
		_, err := os.Stat(filepath.Join(s.root, "began"))
		return err == nil
	})
	s.install(program(t, secondRelease))
	s.mustAskWithin(1)
	if got := s.settled("2.0.0"); got != pid {
		t.Errorf("the pid was %d and is %d", pid, got)
	}
	s.oneOutcome(true, "The restart cut live-")
	s.await("the owner is told why there is no answer", func() bool {
		return s.said("SCV restarted into 2.0.0 while the agent was at work.") > 0
	})
}

// TestStopJustAfterTheSwitch: a stop on purpose is no crash, however early in the life of the new release it
// comes. Nothing is rolled back, and the next start goes on.
func TestStopJustAfterTheSwitch(t *testing.T) {
	times := []time.Duration{0, 3 * time.Millisecond, 50 * time.Millisecond, time.Millisecond, 10 * time.Millisecond, 200 * time.Millisecond}
	if !long() {
		times = times[:3]
	}
	for _, after := range times {
		t.Run(after.String(), func(t *testing.T) {
			t.Parallel()
			second := withFaults(t, program(t, secondRelease), failpoint.NewerSchema)
			s := newSite(t, program(t, patientRelease), "bin/scv") // so that the stop comes before the proof
			s.startAlone()
			pid := s.serves("1.0.0-patient")
			s.install(second)
			s.stopsAtTheSwitch(pid, after)
			s.await("nobody is left", func() bool { return len(s.processes()) == 0 })
			s.installed(second)
			if all := s.outcomes(); len(all) != 1 || all[0].Step == "done" {
				t.Errorf("the plan is %+v", all)
			}
			s.startAlone()
			s.settled("2.0.0")
			s.installed(second)
			s.oneOutcome(true, "SCV now runs 2.0.0")
		})
	}
}

// stopsAtTheSwitch plans a restart and sends SIGTERM so long after the process has become the new release.
func (s *site) stopsAtTheSwitch(pid int, after time.Duration) {
	s.t.Helper()
	sum, err := os.ReadFile(s.binary)
	must(s.t, err)
	image := fmt.Sprintf("%x", sha256.Sum256(sum))
	s.mustAsk()
	for deadline := time.Now().Add(limit); !s.holder().Runs(image); { // as fast as it can look: it is milliseconds
		if time.Now().After(deadline) {
			s.t.Fatal("it never goes over")
		}
	}
	s.await("the program is another", func() bool { return sameProgram(pid, s.binary) })
	time.Sleep(after)
	must(s.t, syscall.Kill(pid, syscall.SIGTERM))
}

// sameProgram reports whether a process runs the file at path.
func sameProgram(pid int, path string) bool {
	a, errA := os.Stat(fmt.Sprintf("/proc/%d/exe", pid))
	b, errB := os.Stat(path)
	return errA == nil && errB == nil && os.SameFile(a, b)
}
