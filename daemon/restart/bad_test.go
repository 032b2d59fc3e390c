package restart_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"scv/internal/failpoint"
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
	{"never reconnects an account", []string{failpoint.BrokenAccount}, "local:default did not come back", false},
	{"newer schema whose migration fails", []string{failpoint.NewerSchema, "restart.migrate=error@1"}, "does not work on a copy of the store", true},
	{"newer schema, crashes while it migrates", []string{failpoint.NewerSchema, "restart.serving=crash@1"}, "before it had proven itself", false},
}

// TestBadReleasesAlone: whatever is wrong with a release, the old one serves again, with its store, and the
// outcome is known, with nobody to start a daemon again.
func TestBadReleasesAlone(t *testing.T) {
	for _, bad := range badReleases {
		t.Run(bad.name, func(t *testing.T) {
			t.Parallel()
			bad.mustFail(t, func(s *site) { s.startAlone() })
		})
	}
}

// TestBadReleasesManaged is the same under a supervisor that starts whatever is installed.
func TestBadReleasesManaged(t *testing.T) {
	for _, bad := range badReleases {
		t.Run(bad.name, func(t *testing.T) {
			t.Parallel()
			bad.mustFail(t, func(s *site) { s.startManaged() })
		})
	}
}

func (bad badRelease) mustFail(t *testing.T, start func(*site)) {
	first := program(t, firstRelease)
	s := newSite(t, first, "bin/scv")
	start(s)
	s.serves("1.0.0")
	s.install(withFaults(t, program(t, secondRelease), bad.faults...))
	s.mustAsk()
	s.settled("1.0.0")
	if !bad.stays {
		s.installed(first)
	}
	s.oneOutcome(false, bad.why)
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
	out, err := exec.Command(s.binary, "--home", s.home, "store", "dump", "--json").Output()
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
		if record.Bucket != "restart" {
			continue
		}
		var e ended
		if err := json.Unmarshal(record.Value, &e); err != nil {
			s.t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}
