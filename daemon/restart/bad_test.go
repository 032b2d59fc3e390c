package restart_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"scv/internal/failpoint"
	"scv/wire"
	"scv/wire/bus"
)

// badRelease is a release that must not stay.
type badRelease struct {
	name   string
	faults []string
	why    string // what the outcome says
	stays  bool   // it is found out before it is started, and nobody touches what is installed
}

// The bad releases that are found out under probation, or when they are tried.
var badReleases = []badRelease{
	{"crashes at once", []string{"restart.boot=crash@1"}, "before it had proven itself", false},
	{"crashes while it starts", []string{"restart.boots=crash@1"}, "it ended", false},
	{"ends with an error", []string{"restart.serving=error@1"}, "before it had proven itself", false},
	{"hangs at once", []string{"restart.boot=hang@1"}, "no sign of life", false},
	{"hangs before it serves", []string{"store.commit.before=hang@1"}, "no sign of life", false},
	{"says that it is another version", []string{failpoint.BrokenVersion}, "it says that it is 9.9.9", false},
	{"another program than it said", []string{failpoint.BrokenVersion, failpoint.NewerSchema}, "it says that it is 9.9.9", false},
	{"never reconnects an account", []string{failpoint.BrokenAccount}, "local:default did not come back", false},
	{"newer schema whose migration fails", []string{failpoint.NewerSchema, "restart.migrate=error@1"}, "does not work on a copy of the store", true},
	{"newer schema, crashes while it migrates", []string{failpoint.NewerSchema, "restart.serving=crash@1"}, "before it had proven itself", false},
}

// TestBadReleases: whatever is wrong with a release, the old one serves again, with its store, and the outcome
// is known: with nobody to start a daemon again, and under a supervisor that starts whatever is installed. By
// turns, and with time enough both.
func TestBadReleases(t *testing.T) {
	for i, bad := range badReleases {
		for managed := range 2 {
			if !long() && i%2 != managed {
				continue
			}
			t.Run(fmt.Sprintf("%s managed=%d", bad.name, managed), func(t *testing.T) {
				t.Parallel()
				bad.mustFail(t, managed == 1)
			})
		}
	}
}

func (bad badRelease) mustFail(t *testing.T, managed bool) {
	first := program(t, firstRelease)
	s := newSite(t, first, "bin/scv")
	s.start(managed)
	s.serves("1.0.0")
	s.install(withFaults(t, program(t, secondRelease), bad.faults...))
	s.mustAsk()
	s.settled("1.0.0")
	if !bad.stays {
		s.installed(first)
	}
	s.oneOutcome(false, bad.why)
}

// TestCrashesAfterThreeSeconds is the one bad release that only the real times find out. The old one serves
// again 10 s after that at most, without anybody's help.
func TestCrashesAfterThreeSeconds(t *testing.T) {
	t.Parallel()
	old := program(t, patientRelease)
	s := newSite(t, old, "bin/scv")
	s.startAlone()
	s.serves("1.0.0-patient")
	s.install(withFaults(t, program(t, secondRelease), failpoint.RestartServing+"=late@1"))
	s.mustAsk()
	s.serves("2.0.0")
	s.await("it is about to crash", s.happened)
	begin := time.Now()
	s.await("it crashes", func() bool { return len(s.processes()) == 1 }) // the guard
	s.serves("1.0.0-patient")
	const late = 3 * time.Second // failpoint.LateTime, which only the builds with failpoints have
	if took := time.Since(begin) - late; took > 10*time.Second {
		t.Errorf("nobody served for %s", took)
	}
	s.settled("1.0.0-patient")
	s.installed(old)
	s.oneOutcome(false, "before it had proven itself")
}

// TestCrashesAfterAnnouncing: a release that has proven itself crashes whenever it has told the owner so. It stays,
// since nothing could be put back without loss, and the owner reads it once.
func TestCrashesAfterAnnouncing(t *testing.T) {
	t.Parallel()
	s := newSite(t, program(t, firstRelease), "bin/scv")
	s.startManaged()
	s.serves("1.0.0")
	s.install(withFaults(t, program(t, secondRelease), failpoint.SendAfter+"=crash@1"))
	s.mustAsk()
	s.await("it crashes four times", func() bool {
		b, _ := os.ReadFile(s.hits)
		return strings.Count(string(b), "=crash\n") >= 4
	})
	s.install(program(t, secondRelease)) // a person repairs it
	s.settled("2.0.0")
	s.oneOutcome(true, "SCV now runs 2.0.0")
	s.tellsOnce("SCV now runs 2.0.0")
}

// TestRefusedReleases: what is no release at all is found out at the request. The old one is not touched, and a
// good one that is installed next is taken.
func TestRefusedReleases(t *testing.T) {
	for _, c := range []struct {
		name   string
		faults []string // of the first release
		spoil  func(t *testing.T, program string)
		says   string
	}{
		{"not executable", nil, func(t *testing.T, program string) { must(t, os.Chmod(program, 0o644)) }, "may not be executed"},
		{"of another architecture", nil, func(t *testing.T, program string) { patch(t, program, elfMachine, 0xff) }, "does not run, or is no scv"},
		{"half of it", nil, func(t *testing.T, program string) { must(t, os.Truncate(program, 1<<20)) }, "does not run, or is no scv"},
		{"hangs when it is asked", nil, func(t *testing.T, program string) {
			must(t, os.WriteFile(program, []byte("#!/bin/sh\nexec sleep 60\n"), 0o755))
		}, "does not run, or is no scv"},
		{"with a name that is none", nil, func(t *testing.T, program string) {
			must(t, os.WriteFile(program, []byte("#!/bin/sh\necho '{\"version\":\"2.0.0\\n1.0.0 is bad\",\"schema\":4}'\n"), 0o755))
		}, "does not run, or is no scv"},
		{"gone", nil, func(t *testing.T, program string) { must(t, os.Remove(program)) }, "no program can be read"},
		{"a pipe that nobody writes to", nil, pipe, "no program can be read"},
		{"of an older schema", []string{failpoint.NewerSchema}, func(*testing.T, string) {}, "an older release cannot take over"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			second := program(t, secondRelease)
			s := newSite(t, withFaults(t, program(t, firstRelease), c.faults...), "bin/scv")
			s.startAlone()
			pid := s.serves("1.0.0")
			s.install(second)
			c.spoil(t, s.binary)
			s.refused(wire.RestartWhenIdleCommand{}, c.says)
			s.install(withFaults(t, second, c.faults...))
			s.refused(wire.RestartWhenIdleCommand{Version: new("3.0.0")}, "version 2.0.0 is installed and 3.0.0 was expected")
			if _, err := s.request(wire.RestartWhenIdleCommand{Version: new("2.0.0")}); err != nil && !errors.Is(err, bus.ErrLost) {
				t.Fatalf("the good one: %v", err)
			}
			if got := s.settled("2.0.0"); got != pid {
				t.Errorf("the pid was %d and is %d", pid, got)
			}
			s.oneOutcome(true, "SCV now runs 2.0.0")
		})
	}
}

// pipe puts a named pipe in the place of a program: whoever opens it waits for a writer.
func pipe(t *testing.T, program string) {
	t.Helper()
	must(t, errors.Join(os.Remove(program), syscall.Mkfifo(program, 0o755)))
}

// refused asks for a restart that is refused, and changes nothing.
func (s *site) refused(command wire.RestartWhenIdleCommand, says string) {
	s.t.Helper()
	_, err := s.request(command)
	var refused *wire.Error
	if !errors.As(err, &refused) || refused.Code != wire.RestartError || !strings.Contains(refused.Text, says) {
		s.t.Errorf("the answer is %v, want a refusal with %q", err, says)
	}
	if status, err := s.status(); err != nil || status.Version != "1.0.0" || status.Restart != nil || len(s.files()) > 0 {
		s.t.Errorf("after it: version %s, plan %+v, files %q, %v", status.Version, status.Restart, s.files(), err)
	}
}

// elfMachine is where an ELF file says what machine it is for.
const elfMachine = 18

func patch(t *testing.T, path string, at int64, with byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteAt([]byte{with}, at)
	must(t, errors.Join(err, f.Close()))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// installed holds the installed program against another.
func (s *site) installed(program string) {
	s.t.Helper()
	got, err := os.ReadFile(s.binary)
	if err != nil {
		s.t.Fatal(err)
	}
	want, err := os.ReadFile(program)
	if err != nil {
		s.t.Fatal(err)
	}
	if string(got) != string(want) {
		s.t.Errorf("another program is installed (%d bytes, not %d)", len(got), len(want))
	}
}

// ended is how a restart ended, as the store shows it.
type ended struct {
	Step    string `json:"step"`
	Updated bool   `json:"updated"`
	Outcome string `json:"outcome"`
}

// oneOutcome holds the one outcome that the store has.
func (s *site) oneOutcome(updated bool, why string) {
	s.t.Helper()
	all := s.outcomes()
	if len(all) != 1 || all[0].Step != "done" || all[0].Updated != updated || !strings.Contains(all[0].Outcome, why) {
		s.t.Errorf("outcomes %+v, want one with %q", all, why)
	}
}

// outcomes are the plan and the outcomes of the site's store.
func (s *site) outcomes() (all []ended) {
	s.t.Helper()
	s.dump(func(bucket string, value jsontext.Value) {
		if bucket != "restart" {
			return
		}
		var e ended
		if err := json.Unmarshal(value, &e); err != nil {
			s.t.Fatal(err)
		}
		all = append(all, e)
	})
	return all
}

// said counts the messages of the chat that hold a text.
func (s *site) said(text string) (count int) {
	s.t.Helper()
	quoted, err := json.Marshal(text)
	must(s.t, err)
	inside := strings.Trim(string(quoted), `"`)
	s.dump(func(bucket string, value jsontext.Value) {
		if bucket != "restart" && strings.Contains(string(value), inside) {
			count++
		}
	})
	return count
}

// dump shows what the store holds.
func (s *site) dump(see func(bucket string, value jsontext.Value)) {
	s.t.Helper()
	scv, err := secondRelease()
	if err != nil {
		s.t.Fatal(err)
	}
	out, err := exec.Command(scv, "--home", s.home, "store", "dump", "--json", "--texts").Output()
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		var record struct {
			Bucket string         `json:"bucket"`
			Value  jsontext.Value `json:"value"`
		}
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			s.t.Fatal(err)
		}
		see(record.Bucket, record.Value)
	}
}
