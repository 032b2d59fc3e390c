package restart_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"scv/daemon/lock"
	"scv/internal/failpoint"
	"scv/internal/layout"
	"scv/wire/bus"
)

// The releases that a restart is tried with. Each has one schema more than the first.
var (
	good  = []string{failpoint.NewerSchema}
	wrong = []string{failpoint.NewerSchema, failpoint.BrokenVersion}
	dying = []string{failpoint.NewerSchema, failpoint.RestartServing + "=crash@1"} // whenever it serves
)

// step is a moment of a restart at which whoever comes there has a fault, once.
type step struct {
	to    []string // the release that is restarted into
	in    string   // whose fault it is: first or second
	point string
	at    string // "hit", "hit!turn"
	what  string // is about to be done
	plans bool   // a plan is stored before, so that there is an outcome
}

const first, second = "first", "second"

// steps are all of them, in the order of a restart: of one that succeeds, of one that the new release itself
// takes back, and of one that the guard takes back. A point stands just before what is made durable, so that
// the next point is what comes just after.
var steps = []step{
	{good, first, failpoint.RestartAsk, "1", "the installed program is copied and asked", false},
	{good, first, failpoint.RestartOld, "1", "old is renamed into place", false},
	{good, first, failpoint.RestartFile, "1", "boots", false},
	{good, first, failpoint.RestartFile, "2", "ok", false},
	{good, first, failpoint.RestartFile, "3", "back", false},
	{good, first, failpoint.RestartFile, "4", "back-guard", false},
	{good, first, failpoint.RestartFile, "5", "beat", false},
	{good, first, failpoint.RestartHandover, "1", "handover.json", false},
	{good, first, failpoint.RestartPlan, "1", "the plan is stored", false},
	{good, first, failpoint.RestartTry, "1", "the new release is tried; the plan is stored", true},
	{good, second, failpoint.RestartMigrate, "1", "the copy of the store is migrated, in the trial", true},
	{good, first, failpoint.RestartSwitching, "1", "the plan is stored as switching", true},
	{good, first, failpoint.RestartFile, "6", "accounts; the plan is stored as switching", true},
	{good, first, failpoint.RestartGuard, "1", "the guard watches", true},
	{good, first, failpoint.RestartSnap, "1", "store.snap; the store is closed", true},
	{good, first, failpoint.RestartExec, "1", "the new release takes the process over", true},
	{good, second, failpoint.RestartBoot, "1", "its first act", true},
	{good, second, failpoint.RestartBoots, "1", "boots is counted", true},
	{good, second, failpoint.RestartMigrate, "1!2", "the store is migrated", true},
	{good, second, failpoint.RestartProving, "1", "the plan is stored as proving; the store is migrated", true},
	{good, second, failpoint.RestartServing, "1", "it serves; the plan is stored as proving", true},
	{good, first, failpoint.RestartVerdict, "1", "verdict is linked by the guard", true},
	{good, second, failpoint.RestartOutcome, "1", "the outcome is stored; the verdict is given", true},
	{good, second, failpoint.RestartEnd, "1", "handover.json is removed; the outcome is stored", true},
	{good, second, failpoint.RestartClear, "1", "the first of the other files is removed", true},
	{good, second, failpoint.RestartClear, "4", "some are, some are not", true},
	{good, second, failpoint.RestartTold, "1", "the owner is told, which is one commit with the note of it", true},

	{wrong, first, failpoint.RestartVerdict, "1", "verdict is linked by the guard", true},
	{wrong, second, failpoint.RestartBinaryBack, "1", "the old program is renamed into place; the verdict is given", true},
	{wrong, second, failpoint.RestartStoreBack, "1", "store.snap is renamed into place", true},
	{wrong, second, failpoint.RestartExec, "1", "the old release takes the process over", true},
	{wrong, first, failpoint.RestartBoot, "1!2", "its first act after that", true},
	{wrong, first, failpoint.RestartOutcome, "1", "the outcome is stored", true},
	{wrong, first, failpoint.RestartEnd, "1", "handover.json is removed", true},
	{wrong, first, failpoint.RestartClear, "3", "some of the others are", true},
	{wrong, first, failpoint.RestartTold, "1", "the owner is told", true},

	{dying, first, failpoint.RestartVerdict, "1", "verdict is linked by the guard", true},
	{dying, first, failpoint.RestartBinaryBack, "1", "the old program is renamed into place by the guard", true},
	{dying, first, failpoint.RestartStoreBack, "1", "store.snap is renamed into place by the guard", true},
	{dying, first, failpoint.RestartExec, "1!2", "the guard becomes the old release; without a supervisor", true},
	{dying, first, failpoint.RestartBoot, "1!2", "the first act of the old release", true},
	{dying, first, failpoint.RestartOutcome, "1", "the outcome is stored", true},
}

// long reports whether there is time to try everything, as SCV_RESTARTS says.
func long() bool { return os.Getenv("SCV_RESTARTS") != "" }

// TestKilledAtEveryStep kills whoever comes to a step of a restart: the old release, the new one or the guard.
// Whatever is left settles, as soon as somebody starts the daemon again: one release serves, nothing
// acknowledged is lost, and the restart has at most one outcome, which the owner hears once.
func TestKilledAtEveryStep(t *testing.T) {
	everyStep(t, "crash", 1, func(s step) string { return s.in + s.point })
}

// TestDiskFullAtEveryStep is the same with an error instead of a death: the old release goes on or the new one
// settles, and nobody has to start anything.
func TestDiskFullAtEveryStep(t *testing.T) {
	everyStep(t, "full", 2, func(s step) string { return s.point })
}

// everyStep tries the steps, alone and under a supervisor. Where there is no time for that it tries one step of
// each nth kind, by turns alone and under a supervisor.
func everyStep(t *testing.T, mode string, nth int, kind func(step) string) {
	program(t, firstRelease)
	program(t, secondRelease)
	tried := map[string]bool{}
	for i, s := range steps {
		known := tried[kind(s)]
		tried[kind(s)] = true
		for managed := range 2 {
			if !long() && (known || len(tried)%nth > 0 || len(tried)/nth%2 != managed) {
				continue
			}
			name := fmt.Sprintf("%02d %s@%s in %s to %s managed=%d", i+1, s.point, s.at, s.in, strings.Join(s.to, "+"), managed)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if testing.Short() && i%4 != 0 {
					t.Skip("a part is enough under -short")
				}
				s.fails(t, mode, managed == 1)
			})
		}
	}
	for _, point := range failpoint.Restart {
		if !slices.ContainsFunc(steps, func(s step) bool { return s.point == point }) {
			t.Errorf("nobody tries %s", point)
		}
	}
}

func (st step) fails(t *testing.T, mode string, managed bool) {
	at, turn, _ := strings.Cut(st.at, "!")
	fault := st.point + "=" + mode + "@" + at + "!" + turn
	firsts, seconds := []string{}, slices.Clone(st.to)
	if st.in == first {
		firsts = append(firsts, fault)
	} else {
		seconds = append(seconds, fault)
	}
	s := newSite(t, withFaults(t, program(t, firstRelease), firsts...), "bin/scv")
	s.start(managed)
	s.serves("1.0.0")
	s.install(withFaults(t, program(t, secondRelease), seconds...))
	w := s.write()
	s.await("a first change is acknowledged", func() bool { return w.some.Load() })
	asked := s.ask()
	if asked != nil && !errors.Is(asked, bus.ErrLost) && !errors.Is(asked, bus.ErrNoDaemon) && st.plans {
		t.Errorf("the request: %v", asked)
	}
	version := s.settles(mode == "crash" && !managed)
	w.held(s)
	st.judge(s, version, asked)
}

// judge holds what became of it against what must.
func (st step) judge(s *site, version string, asked error) {
	s.t.Helper()
	newer := !strings.HasPrefix(version, "1.")
	if newer && !slices.Equal(st.to, good) {
		s.t.Errorf("release %s serves", version)
	}
	all := s.outcomes()
	switch {
	case !st.plans && len(all) > 0, !st.plans && asked == nil:
		s.t.Errorf("nothing was planned; the request was answered with %v, outcomes %+v", asked, all)
	case !st.plans:
	case len(all) != 1 || all[0].Updated != newer:
		s.t.Errorf("release %s serves, and the outcomes are %+v", version, all)
	default:
		s.tellsOnce(all[0].Outcome)
	}
}

// settles waits until the fault has happened, nothing is under way and a release serves. When no process is
// left, a person starts the daemon, where one is needed.
func (s *site) settles(person bool) (version string) {
	s.t.Helper()
	nobody := time.Now() // held the home since
	s.await("it settles", func() bool {
		if s.holder().Alive() || !person {
			nobody = time.Now()
		} else if time.Since(nobody) > 200*time.Millisecond && len(s.processes()) == 0 {
			s.startAlone()
			nobody = time.Now()
		}
		left := slices.DeleteFunc(s.files(), func(name string) bool { return name == "guard.log" })
		if len(left) > 0 || !s.happened() || !s.holder().Alive() {
			return false
		}
		status, err := s.status()
		version = status.Version
		return err == nil && status.Restart == nil
	})
	return version
}

// tellsOnce waits until the owner's chat has an outcome, and counts it.
func (s *site) tellsOnce(outcome string) {
	s.t.Helper()
	count := 0
	s.await("the owner hears of it", func() bool {
		count = s.said(outcome)
		return count > 0
	})
	if count > 1 {
		s.t.Errorf("the owner was told %d times: %s", count, outcome)
	}
}

// happened reports whether a fault has happened.
func (s *site) happened() bool {
	b, err := os.ReadFile(s.hits)
	return err == nil && slices.ContainsFunc(strings.Fields(string(b)), func(word string) bool {
		return strings.HasSuffix(word, "=crash") || strings.HasSuffix(word, "=full") || strings.HasSuffix(word, "=late")
	})
}

// holder is who holds the home.
func (s *site) holder() lock.Holder {
	h, err := lock.Read(filepath.Join(s.home, layout.Lock))
	if err != nil {
		return lock.Holder{}
	}
	return h
}
