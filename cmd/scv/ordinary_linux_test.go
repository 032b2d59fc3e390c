package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestAsAnOrdinaryUser: nothing of SCV needs root. Run by root, the rest of the tests would not show that.
func TestAsAnOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("every other test has shown it")
	}
	home, scv := strangersHome(t)
	says := func(want string, args ...string) string {
		t.Helper()
		out, err := scv(args...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("scv %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	daemon := scv("run")
	if err := startTied(daemon); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = daemon.Process.Kill(); _, _ = daemon.Process.Wait() })
	for end := time.Now().Add(20 * time.Second); scv("status").Run() != nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the daemon does not answer")
		}
	}
	says("said hello\n", "delegate", "answers", "hello")
	says("", "channels", "set", "local:default", "--agent", "answers")
	says("said hi\n", "chat", "--send", "hi")
	handle := strings.TrimSpace(says("hides-", "delegate", "--background", "hides", "hide"))
	for end := time.Now().Add(20 * time.Second); strings.Count(says("", "delegations", "--why", handle), "sleep") < 2; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(says("", "delegations", "--all"))
		}
	}
	says("stopped "+handle, "kill", handle)
	survives(t, says, scv)
	if doctor := says("nothing is broken", "doctor"); !strings.Contains(doctor, "ok    cgroup") && !strings.Contains(doctor, "warn  cgroup       runs get no cgroup of their own") {
		t.Errorf("doctor does not say what holds of cgroups:\n%s", doctor)
	}
	if err := errors.Join(daemon.Process.Signal(syscall.SIGTERM), daemon.Wait()); err != nil {
		t.Errorf("the daemon: %v", err)
	}
	awaitNobody(t, home)
}

// strangersHome is a home of another user, who has scv and its agents, and how that user runs it.
func strangersHome(t *testing.T) (home string, scv func(args ...string) *exec.Cmd) {
	t.Helper()
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(errors.Join(os.Chmod(filepath.Dir(dir), 0o711), os.Chmod(dir, 0o711)))
	program := filepath.Join(dir, "scv")
	installed, err := exec.LookPath("scv")
	must(err)
	must(copyProgram(installed, program))
	if rises, err := exec.LookPath("setpriv"); err == nil { // for an agent that becomes root
		must(copyProgram(rises, filepath.Join(dir, "setpriv")))
		must(os.Chmod(filepath.Join(dir, "setpriv"), 0o755|os.ModeSetuid))
	}
	home = filepath.Join(dir, "home")
	must(os.Mkdir(home, 0o700))
	writeConfig(t, home, `
[agents.answers]
command = ["sh", "-c", "read -r x; echo said $x"]
[agents.rises]
command = ["`+filepath.Join(dir, "setpriv")+`", "--reuid=0", "--regid=0", "--clear-groups", "sleep", "300"]
[agents.hides]
command = ["sh", "-c", "cat >/dev/null; sleep 300 & setsid sleep 300 & (setsid env -i sleep 300 &) ; wait"]
`)
	must(errors.Join(os.Chown(home, stranger, stranger), os.Chown(filepath.Join(home, "config.toml"), stranger, stranger)))
	return home, func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Env, cmd.Dir = append(os.Environ(), "SCV_HOME="+home, "HOME="+home), home
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stranger, Gid: stranger}}
		return cmd
	}
}

// survives: an agent that has become another user cannot be killed. The kill names it and does not report it gone,
// and it stays on record until it is.
func survives(t *testing.T, says func(want string, args ...string) string, scv func(args ...string) *exec.Cmd) {
	t.Helper()
	handle := strings.TrimSpace(says("rises-", "delegate", "--background", "rises", "rise"))
	var pid string
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if found := regexp.MustCompile(`"pid":([0-9]+)`).FindStringSubmatch(says("", "delegations", "--json")); found != nil {
			pid = found[1]
			status, err := os.ReadFile("/proc/" + pid + "/status")
			if err == nil && strings.Contains(string(status), "\nUid:\t0\t0\t0\t0\n") {
				break
			}
		}
		if time.Now().After(end) {
			t.Logf("nothing was tested of what survives: no process can become root here: %s", says("", "delegations", "--all"))
			return
		}
	}
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(n, syscall.SIGKILL) }()
	out, err := scv("kill", handle).CombinedOutput()
	if err == nil || !strings.Contains(string(out), pid) || strings.Contains(string(out), "stopped "+handle) {
		t.Errorf("the kill of what cannot be killed: %v: %s", err, out)
	}
	t.Logf("%s", out)
	says(handle, "delegations", "--all")
	if err := syscall.Kill(n, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	for end := time.Now().Add(20 * time.Second); !strings.Contains(says("", "delegations", "--all"), "no agent is running"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it is still on record: %s", says("", "delegations", "--all"))
		}
	}
}

func copyProgram(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
