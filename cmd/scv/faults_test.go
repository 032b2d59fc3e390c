package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"scv/wire"
	"scv/wire/bus"
)

// newHome makes a home with the configuration of the crash test.
func newHome(t *testing.T, path ...string) string {
	t.Helper()
	return homeIn(t, filepath.Join(append([]string{t.TempDir()}, path...)...))
}

func homeIn(t *testing.T, folder string) string {
	t.Helper()
	home := filepath.Join(folder, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(crashConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	return home
}

func (d *daemonProcess) client(t *testing.T) *bus.Client {
	t.Helper()
	c, err := d.connect(t.Context())
	if err != nil {
		t.Fatalf("%v\n%s", err, d.log())
	}
	t.Cleanup(c.Close)
	return c
}

// TestTogglesEndInTheLastState: an account switched 200 times within 2 s is at the end what was asked
// for last, and was never two at once (that is the reconciler's own test).
func TestTogglesEndInTheLastState(t *testing.T) {
	d := startDaemon(t, newHome(t))
	c := d.client(t)
	begin := time.Now()
	for i := range 200 {
		_, err := c.Control(t.Context(), wire.ChannelSetCommand{Channel: "local", Account: "default", Enabled: i%2 == 1})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("200 toggles in %s", time.Since(begin))
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		status, err := c.Control(t.Context(), wire.StatusCommand{})
		if err != nil {
			t.Fatal(err)
		}
		if h := status.Components[0]; h.Enabled && h.State == wire.Connected {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("not connected: %+v", status.Components)
		}
	}
	d.terminate(t)
}

// TestLongHome: a home whose path does not fit into a socket's name works like any other.
func TestLongHome(t *testing.T) {
	home := newHome(t, strings.Repeat("h", 100), strings.Repeat("i", 100))
	d := startDaemon(t, home)
	r := at(t, home).scv("status")
	if r.code != 0 || !strings.Contains(r.out, "local:default") {
		t.Errorf("status: %+v", r)
	}
	d.terminate(t)
}

// TestUmaskZero: whatever the umask, nothing in the home is open to others at any moment. The socket is
// looked at while it is being made again and again.
func TestUmaskZero(t *testing.T) {
	home := newHome(t)
	old := syscall.Umask(0)
	d := startDaemon(t, home)
	syscall.Umask(old)
	if r := at(t, home).scv("chat", "--send", "hello"); r.code != 0 {
		t.Fatalf("chat: %+v", r)
	}
	c := d.client(t)
	snapshot, err := c.StoreSnapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	checkModes(t, home)
	if err := os.Remove(snapshot.Path); err != nil {
		t.Fatal(err)
	}
	d.terminate(t)
}

func checkModes(t *testing.T, home string) {
	t.Helper()
	err := filepath.WalkDir(home, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		agents := strings.HasPrefix(path, filepath.Join(home, "workspace")+"/")
		if info.Mode().Perm()&0o077 != 0 && !agents {
			t.Errorf("%s has mode %04o", path, info.Mode().Perm())
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestSecondDaemon is refused at once, names the first, and harms nothing.
func TestSecondDaemon(t *testing.T) {
	home := newHome(t)
	d := startDaemon(t, home)
	begin := time.Now()
	second := exec.CommandContext(t.Context(), "scv", "run")
	second.Env = append(os.Environ(), "SCV_HOME="+home)
	out, err := second.CombinedOutput()
	if err == nil || !strings.Contains(string(out), fmt.Sprint(d.cmd.Process.Pid)) {
		t.Errorf("second daemon: %v, %s", err, out)
	}
	if took := time.Since(begin); took > 3*time.Second {
		t.Errorf("the refusal took %s", took)
	}
	if r := at(t, home).scv("status"); r.code != 0 {
		t.Errorf("status of the first: %+v", r)
	}
	d.terminate(t)
}

// TestTermDuringStart: a stop that comes at any moment of a start is a stop: exit code 0 (or the
// signal, before the program's first line), nothing running, and the next start works.
func TestTermDuringStart(t *testing.T) {
	home := newHome(t)
	for i := range 25 {
		cmd := exec.CommandContext(t.Context(), "scv", "run")
		cmd.Env = append(os.Environ(), "SCV_HOME="+home)
		var log strings.Builder
		cmd.Stderr = &log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(i) * 4 * time.Millisecond) // the moment is the point of the test
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		err := cmd.Wait()
		status := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if err != nil && (!status.Signaled() || status.Signal() != syscall.SIGTERM) {
			t.Fatalf("stopped after %d ms: %v\n%s", i*4, err, log.String())
		}
		if took := time.Since(begin); took > 8*time.Second {
			t.Fatalf("the stop took %s", took)
		}
	}
	startDaemon(t, home).terminate(t)
}

// TestStopWhileAnAgentIgnoresTerm: a stop takes at most 8 s, exits 0, leaves nothing, and the owner is
// told afterwards.
func TestStopWhileAnAgentIgnoresTerm(t *testing.T) {
	home := newHome(t)
	stubborn := "[agents.stubborn]\ncommand = [\"sh\", \"-c\", \"trap '' TERM; touch began; while :; do sleep 0.1; done\"]\n"
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(stubborn), 0o600); err != nil {
		t.Fatal(err)
	}
	d := startDaemon(t, home)
	c := d.client(t)
	if _, err := c.ChatSend(t.Context(), wire.ChatSend{Account: "default", ID: "m1", Text: "work"}); err != nil {
		t.Fatal(err)
	}
	awaitFile(t, filepath.Join(home, "workspace", "began"))
	d.terminate(t)
	awaitNobody(t, home)
	d = startDaemon(t, home)
	line := awaitAnswer(t, d.client(t), "m1")
	if line.Kind != wire.ChatFailure || !strings.Contains(line.Text, "stopped") {
		t.Errorf("the answer is %+v", line)
	}
	d.terminate(t)
}

func awaitFile(t *testing.T, path string) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s never came", path)
		}
	}
}

func awaitAnswer(t *testing.T, c *bus.Client, id string) wire.ChatLine {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		attached, err := c.ChatAttach(t.Context(), wire.ChatAttach{Account: "default", AfterSeq: new(uint64)})
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range attached.Lines {
			if line.InReplyTo != nil && *line.InReplyTo == id {
				return line
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("no answer to %s in %+v", id, attached.Lines)
		}
	}
}

// TestLogsNeverShowTexts: at the most talkative level, neither what the owner writes, nor what an agent
// prints, nor a question, nor a secret of the environment reaches the log.
func TestLogsNeverShowTexts(t *testing.T) {
	home := newHome(t)
	config := "[agents.loud]\ncommand = [\"sh\", \"-c\", \"cat >&2; echo canary-stderr >&2; echo canary-stdout; exit 3\"]\n"
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SECRET_KEY", "canary-environment")
	d := startDaemon(t, home, "--log-level", "debug")
	c := d.client(t)
	if _, err := c.ChatSend(t.Context(), wire.ChatSend{Account: "default", ID: "m1", Text: "canary-message"}); err != nil {
		t.Fatal(err)
	}
	awaitAnswer(t, c, "m1")
	if _, err := c.Control(t.Context(), wire.ConfirmAskCommand{Question: "canary-question"}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ChatSend(t.Context(), wire.ChatSend{Account: "default", ID: "m2", Text: "yes"}); err != nil {
		t.Fatal(err)
	}
	awaitAnswer(t, c, "m2")
	d.terminate(t)
	log, err := os.ReadFile(filepath.Join(filepath.Dir(home), "log"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(log), "serving") {
		t.Fatalf("this is not the log: %s", log)
	}
	for _, line := range strings.Split(string(log), "\n") {
		if strings.Contains(line, "canary") {
			t.Errorf("the log has %s", line)
		}
	}
}

func writeConfig(t *testing.T, home, config string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
}
