package restart_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"scv/internal/failpoint"
)

// The releases that tests restart into: real builds of scv, whose probation is short. Each bad one is a copy
// of the second with its faults at the end of the file.
var (
	firstRelease  = sync.OnceValues(func() (string, error) { return buildRelease("1.0.0", quick) })
	secondRelease = sync.OnceValues(func() (string, error) { return buildRelease("2.0.0", quick) })
	// patientRelease proves its successor as long as any release that is shipped.
	patientRelease = sync.OnceValues(func() (string, error) { return buildRelease("1.0.0-patient", nil) })
)

// quick are the times of releases that are proven in a moment.
var quick = map[string]string{"soakStamp": "300ms", "silenceStamp": "8s", "accountsStamp": "2s", "planStamp": "50ms"}

func buildRelease(version string, times map[string]string) (string, error) {
	path := filepath.Join(buildFolder, "scv-"+version)
	// Without what debuggers want: programs are copied and hashed many times.
	stamp := "-s -w -X main.version=" + version + " -X main.commit=c" + version[:1]
	for name, value := range times {
		stamp += " -X scv/daemon/restart." + name + "=" + value
	}
	// What counts only where INVOCATION_ID says so too: the daemon runs in a unit.
	stamp += " -X scv/daemon/service.cgroupStamp=/user.slice/user@0.service/app.slice/scv.service"
	out, err := exec.Command("go", "build", "-buildvcs=false", "-tags", "failpoints", "-ldflags", stamp, "-o", path, "scv/cmd/scv").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
}

// program is one of them.
func program(t *testing.T, build func() (string, error)) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// withFaults is a program with faults of its own.
func withFaults(t *testing.T, program string, faults ...string) string {
	t.Helper()
	if len(faults) == 0 {
		return program
	}
	path := filepath.Join(t.TempDir(), "scv")
	must(t, appendTo(path, program, failpoint.Trailer+strings.Join(faults, ",")))
	return path
}
