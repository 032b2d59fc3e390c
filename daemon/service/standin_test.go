package service

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"scv/daemon/process"
)

// standIn puts a program on a PATH of its own that writes down how it is called and does as the script says.
func standIn(t *testing.T, name, script string) (p Place, calls func() []string) {
	t.Helper()
	root := t.TempDir()
	record := filepath.Join(root, "calls")
	text := "#!/bin/sh\nPATH=/usr/bin:/bin\nprintf '%s' \"${0##*/}\" >>'" + record + "'\n" +
		"for arg; do printf ' %s' \"$arg\" >>'" + record + "'; done\necho >>'" + record + "'\n" + script
	if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	p = Place{User: filepath.Join(root, "user"), UID: 501, Environ: []string{"PATH=" + root}, Procs: process.NewTable()}
	return p, func() []string {
		b, err := os.ReadFile(record)
		if err != nil {
			return nil
		}
		_ = os.Remove(record)
		return strings.Split(strings.TrimSpace(string(b)), "\n")
	}
}

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: it called\n\t%s\nand not\n\t%s", what, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func TestSystemdIsCalled(t *testing.T) {
	p, calls := standIn(t, "systemctl", `
case "$2" in
show) printf 'LoadState=loaded\nActiveState=activating\nSubState=auto-restart\nMainPID=4242\nResult=exit-code\nNRestarts=3\n' ;;
stop) echo "no permission  to do that" >&2; exit 4 ;;
esac
`)
	s := newSystemd(p)
	if !s.Present() {
		t.Error("it is not found")
	}
	if err := s.Reach(t.Context()); err != nil {
		t.Error(err)
	}
	same(t, "reach", calls(), "systemctl --user show --property=Version")
	if err := s.Start(t.Context()); err != nil {
		t.Error(err)
	}
	same(t, "start", calls(), "systemctl --user daemon-reload", "systemctl --user enable --quiet scv.service", "systemctl --user start --no-block scv.service")
	if err := s.Restart(t.Context()); err != nil {
		t.Error(err)
	}
	same(t, "restart", calls(), "systemctl --user daemon-reload", "systemctl --user restart --no-block scv.service")
	if err := s.Stop(t.Context()); err == nil || err.Error() != "systemctl --user stop scv.service: no permission to do that" {
		t.Errorf("a stop that is refused: %v", err)
	}
	calls()
	st, err := s.State(t.Context())
	if want := (State{Known: true, Active: true, PID: 4242, Ended: 3, Words: "activating (auto-restart), exit-code"}); err != nil || st != want {
		t.Errorf("state %+v, %v", st, err)
	}
}

func TestSystemdIsNotThere(t *testing.T) {
	s := newSystemd(Place{User: t.TempDir(), Environ: []string{"PATH=" + t.TempDir()}, Procs: process.NewTable()})
	if err := s.Reach(t.Context()); err == nil || !strings.Contains(err.Error(), "systemctl is not on the PATH") || s.Present() {
		t.Errorf("%v", err)
	}
	p, _ := standIn(t, "systemctl", "echo 'Failed to connect to bus: No medium found' >&2; exit 1\n")
	if err := newSystemd(p).Reach(t.Context()); err == nil || !strings.Contains(err.Error(), "Failed to connect to bus: No medium found") {
		t.Errorf("%v", err)
	}
}

func TestLinger(t *testing.T) {
	for said, want := range map[string]bool{"Linger=yes": true, "Linger=no": false} {
		p, calls := standIn(t, "loginctl", "echo "+said+"\n")
		if on, known := Linger(t.Context(), p, "me"); on != want || !known {
			t.Errorf("%s: %v, %v", said, on, known)
		}
		same(t, said, calls(), "loginctl show-user me --property=Linger")
	}
	p, _ := standIn(t, "loginctl", "exit 1\n")
	if on, known := Linger(t.Context(), p, "no-such-user/.."); on || known {
		t.Errorf("nobody can tell, and it is %v, %v", on, known)
	}
}

// launchctl that knows whether the agent is loaded, and lets go of it with a delay.
const launchctl = `
here=${0%/*}
case "$1" in
bootstrap) [ ! -e "$here/loaded" ] || { echo "Bootstrap failed: 5" >&2; exit 5; }; touch "$here/loaded" ;;
bootout) [ -e "$here/loaded" ] || exit 3; mv "$here/loaded" "$here/leaving" ;;
print)
	case "$2" in
	gui/501) exit 0 ;;
	gui/501/scv)
		if [ -e "$here/leaving" ]; then rm "$here/leaving"
		elif [ ! -e "$here/loaded" ]; then echo "Could not find service" >&2; exit 113; fi
		printf 'gui/501/scv = {\n\tactive count = 1\n\tstate = running\n\n\truns = 3\n\tpid = 4242\n\tendpoints = {\n\t\tpid = 7\n\t}\n}\n' ;;
	esac ;;
esac
`

func TestLaunchdIsCalled(t *testing.T) {
	p, calls := standIn(t, "launchctl", launchctl)
	l := newLaunchd(p)
	if err := l.Reach(t.Context()); err != nil {
		t.Error(err)
	}
	if st, err := l.State(t.Context()); err != nil || st.Known || st.Active {
		t.Errorf("before: %+v, %v", st, err)
	}
	calls()
	const print, enable, boot = "launchctl print gui/501/scv", "launchctl enable gui/501/scv", "launchctl bootstrap gui/501 "
	if err := l.Start(t.Context()); err != nil {
		t.Error(err)
	}
	same(t, "start", calls(), enable, print, boot+l.File())
	st, err := l.State(t.Context())
	if want := (State{Known: true, Active: true, PID: 4242, Ended: 2, Words: "running"}); err != nil || st != want {
		t.Errorf("state %+v, %v", st, err)
	}
	calls()
	if err := l.Start(t.Context()); err != nil {
		t.Error(err)
	}
	same(t, "start again", calls(), enable, print, "launchctl kickstart gui/501/scv")
	if err := l.Restart(t.Context()); err != nil {
		t.Error(err)
	}
	same(t, "restart", calls(), "launchctl bootout gui/501/scv", print, print, enable, print, boot+l.File())
	if err := l.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	calls()
	if err := l.Stop(t.Context()); err != nil {
		t.Errorf("a stop of what is not loaded: %v", err)
	}
	same(t, "stop again", calls(), "launchctl bootout gui/501/scv", print, print)
}

func TestInService(t *testing.T) {
	for cgroup, want := range map[string]bool{
		"/user.slice/user-1000.slice/user@1000.service/app.slice/scv.service": true,
		"/system.slice/scv.service": true,
		"/user.slice/user-1000.slice/user@1000.service/app.slice/scv.service/scv-8973cbc5-claude-aa":   true,
		"/user.slice/user-1000.slice/session-3.scope":                                                  false,
		"/user.slice/user-1000.slice/user@1000.service/app.slice/vte-spawn-1.scope":                    false,
		"/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome.slice/gnome-terminal.scope": false,
		"/user.slice": false, "/": false, "": false, "/docker/4242": false,
	} {
		if got := inService(cgroup); got != want {
			t.Errorf("%s: %v", cgroup, got)
		}
	}
}

func TestOutside(t *testing.T) {
	p, calls := standIn(t, "systemd-run", `for arg; do case "$arg" in --unit=scv-guard*) echo "Access denied" >&2; exit 1 ;; esac; done`)
	cgroupStamp = "/user.slice/user-1000.slice/user@1000.service/app.slice/scv.service"
	defer func() { cgroupStamp = "" }()
	if OutsideOf(p.Environ, p.Procs) != nil {
		t.Error("without INVOCATION_ID nobody is a unit")
	}
	unit := append(p.Environ, "INVOCATION_ID=1")
	o := OutsideOf(unit, p.Procs)
	if err := o.Way(t.Context()); err != nil {
		t.Error(err)
	}
	call := calls()[0]
	for _, part := range []string{"systemd-run --user --collect --quiet --unit=scv-probe-", " --service-type=oneshot -- /", "/systemd-run --version"} {
		if !strings.Contains(call, part) {
			t.Errorf("it was called as %q, without %q", call, part)
		}
	}
	spec := process.Spec{Path: "/home/me/.scv/restart/old", Args: []string{"guard", "/home/$me"}, Dir: "/work", Env: []string{"KEY=secret"}}
	if err := o.Launch(t.Context(), "scv-guard-8973cbc5", spec); err == nil || !strings.Contains(err.Error(), "Access denied") {
		t.Errorf("a refusal of systemd: %v", err)
	}
	call = calls()[0]
	if !strings.HasSuffix(call, " -- /home/me/.scv/restart/old guard /home/$$me") || !strings.Contains(call, "--working-directory=/work") || strings.Contains(call, "secret") {
		t.Errorf("it was called as %q", call)
	}
	cgroupStamp = "/system.slice/scv.service"
	if err := OutsideOf(unit, p.Procs).Way(t.Context()); err != nil {
		t.Error(err)
	}
	if call := calls()[0]; strings.Contains(call, "--user") {
		t.Errorf("the system's own manager was not asked: %q", call)
	}
	if err := OutsideOf([]string{"PATH=" + t.TempDir(), "INVOCATION_ID=1"}, p.Procs).Way(t.Context()); err == nil || !strings.Contains(err.Error(), "systemd-run is not on the PATH") {
		t.Errorf("without systemd-run: %v", err)
	}
}
