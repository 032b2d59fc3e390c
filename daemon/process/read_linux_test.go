package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"scv/internal/testexe"
)

const statLine = "4242 (%s) S 7 4240 4100 34816 4242 4194560 100 0 0 0 1 2 0 0 20 0 1 0 987654321 1 2 18446744073709551615 " +
	"1 1 140 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 1 1 1 11 12 13 14 0\n"

func TestParseStat(t *testing.T) {
	for _, name := range []string{"sh", "a b", ") R 1 1 1", "((", "", "x) Z 9 9 9 (y"} {
		p, img, err := parseStat([]byte(strings.Replace(statLine, "%s", name, 1)))
		if err != nil || p.PID != 4242 || p.Start != 987654321 || p.PPID != 7 || p.PGID != 4240 || p.SID != 4100 || p.State != 'S' ||
			img != (image{11, 12, 13, 14}) {
			t.Errorf("%q: %+v %v %v", name, p, img, err)
		}
	}
}

func TestParseStatRefusesAnythingElse(t *testing.T) {
	whole := strings.Replace(statLine, "%s", "sh", 1)
	for _, line := range []string{"", "4242", "4242 (sh", "sh) S 1", ")(", whole[:60], strings.Replace(whole, "987654321", "-1", 1), strings.Replace(whole, "4242 (", "x (", 1)} {
		if p, _, err := parseStat([]byte(line)); err == nil {
			t.Errorf("%q: taken for %+v", line, p)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte(statLine))
	f.Fuzz(func(_ *testing.T, line []byte) { _, _, _ = parseStat(line) })
}

func TestSelf(t *testing.T) {
	id, err := Self()
	if err != nil || id.PID != os.Getpid() || id.Start == 0 || id.Boot == "" || !id.Alive() {
		t.Fatalf("%+v, %v", id, err)
	}
	p, ok := scan(t).Find(id)
	if !ok || p.PPID != os.Getppid() || p.PGID != unix.Getpgrp() || p.Serial != id.Serial {
		t.Errorf("the scan has %+v", p)
	}
	if _, err := Lookup(maxPID + 1); err == nil {
		t.Error("a process that cannot be was found")
	}
}

// A process of a container shows up in our table and is no neighbour.
func TestNeighbour(t *testing.T) {
	if !Neighbour(os.Getpid()) {
		t.Error("we are not our own neighbour")
	}
	ready := filepath.Join(t.TempDir(), "ready")
	path, args := testexe.Command(testexe.Script{{WriteFile: &testexe.File{Path: ready}}, {SleepMillis: forever}})
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID}
	if err := cmd.Start(); err != nil {
		t.Skip("cannot make a container: ", err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	until(t, "it runs", func() bool { _, err := os.Stat(ready); return err == nil })
	if Neighbour(cmd.Process.Pid) {
		t.Error("a process of a container is taken for a neighbour")
	}
}
