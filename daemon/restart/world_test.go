package restart_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"scv/internal/layout"
	"scv/internal/testexe"
	"scv/wire"
	"scv/wire/bus"
)

// config has one agent, which answers what it is told after so many seconds, or when a file is there.
const config = `
[agents.echo]
command = ["sh", "-c", """
read -r line
case $line in
*/*) until [ -e "/${line#*/}" ]; do sleep 0.05; done ;;
*) sleep "${line##* }" ;;
esac
echo "answer to $line"
"""]
prompt = "stdin"

[notify]
owner = ["local:default"]
`

// buildFolder holds the programs that tests build; it goes when they end.
var buildFolder string

func TestMain(m *testing.M) {
	testexe.Run()
	folder, err := os.MkdirTemp("", "scv-builds-")
	if err != nil {
		panic(err)
	}
	buildFolder = folder
	flag.Parse()
	// What runs here mostly waits for real processes.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(folder)
	testexe.Tidy()
	os.Exit(code)
}

// site is one home with the place where its program is installed.
type site struct {
	t      *testing.T
	root   string
	home   string
	binary string // the daemon is started by it
	hits   string // what faults happened
	env    []string
}

// newSite installs a program. where is the path of it below a folder of the test.
func newSite(t *testing.T, program, where string) *site {
	t.Helper()
	root, err := os.MkdirTemp("", "scv-site-")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, root: root, home: filepath.Join(root, "home"), binary: filepath.Join(root, where), hits: filepath.Join(root, "hits")}
	s.env = []string{"SCV_FAILPOINTS_HITS=" + s.hits}
	for _, dir := range []string{s.home, filepath.Dir(s.binary)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.writeConfig(config)
	t.Cleanup(func() {
		s.endAll()
		if t.Failed() {
			t.Logf("daemon:\n%s\nguard:\n%s\nfaults: %s", tailOf(filepath.Join(root, "log"), 60), tailOf(filepath.Join(s.home, "restart", "guard.log"), 30), tailOf(s.hits, 9))
		}
		os.RemoveAll(root)
	})
	s.install(program)
	return s
}

func tailOf(path string, lines int) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// install puts a program in place in one step, as make install does.
func (s *site) install(program string) {
	s.t.Helper()
	copyFile(s.t, program, s.binary)
}

// start starts the daemon, under a supervisor or alone.
func (s *site) start(managed bool) {
	s.t.Helper()
	if managed {
		s.startManaged()
	} else {
		s.startAlone()
	}
}

// startAlone starts the daemon so that nobody starts it again: its parent ends at once.
func (s *site) startAlone() {
	s.t.Helper()
	s.startAt(s.home)
}

// startAt starts it with another name of its home.
func (s *site) startAt(home string) {
	s.t.Helper()
	cmd := exec.Command("setsid", "--fork", s.binary, "run", "--home", home)
	cmd.Env, cmd.Stderr = s.environ(), s.log()
	if err := cmd.Run(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) environ() []string {
	return append(append(os.Environ(), "SCV_HOME="+s.home, "INVOCATION_ID="), s.env...)
}

func (s *site) log() *os.File {
	s.t.Helper()
	f, err := os.OpenFile(filepath.Join(s.root, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { f.Close() })
	return f
}

// runit supervises the daemon of a site.
type runit struct {
	cmd *exec.Cmd
}

// startManaged starts the daemon under runsv, which starts it again whenever it ends.
func (s *site) startManaged() *runit {
	s.t.Helper()
	runsv, err := exec.LookPath("runsv")
	if err != nil {
		s.t.Skip("THERE IS NO runsv HERE: install the package runit; .ci/run does")
	}
	service := filepath.Join(s.root, "service")
	script := "#!/bin/sh\nexec 2>>'" + filepath.Join(s.root, "log") + "'\nexec '" + s.binary + "' run --home '" + s.home + "'\n"
	if err := os.Mkdir(service, 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(service, "run"), []byte(script), 0o700); err != nil {
		s.t.Fatal(err)
	}
	r := &runit{exec.Command(runsv, service)}
	r.cmd.Env = s.environ()
	if err := r.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = r.cmd.Process.Signal(syscall.SIGTERM) // it ends its service, and then itself
		done := make(chan struct{})
		go func() {
			_ = r.cmd.Wait()
			close(done)
		}()
		select {
		case <-done:
		case <-time.After(15 * time.Second):
			_ = r.cmd.Process.Kill()
			<-done
		}
	})
	return r
}

// processes of this site: the daemon, its guard and its agents.
func (s *site) processes() (pids []int) {
	tag := []byte("SCV_HOME=" + s.home + "\x00")
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range paths {
		if env, err := os.ReadFile(path); err == nil && bytes.Contains(env, tag) {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// endAll ends them, until none is left.
func (s *site) endAll() {
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		left := s.processes()
		if len(left) == 0 {
			return
		}
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	s.t.Error("processes of the site cannot be ended")
}

func (s *site) dialer() bus.Dialer {
	return bus.SocketDialer(bus.SocketPath(s.home, layout.Instance(s.home)))
}

// status asks once.
func (s *site) status() (status wire.DaemonStatus, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err = bus.Do(ctx, s.dialer(), func(ctx context.Context, c *bus.Client) (err error) {
		status, err = c.Control(ctx, wire.StatusCommand{})
		return err
	})
	return status, err
}

// limit is how long a condition may take: machines that build and test at the same time are slow.
const limit = 90 * time.Second

// await waits for a condition.
func (s *site) await(what string, ok func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(limit); !ok(); time.Sleep(25 * time.Millisecond) {
		if time.Now().After(deadline) {
			status, err := s.status()
			s.t.Fatalf("it never happened: %s (status: %s pid %d, %v; files: %v)", what, status.Version, status.PID, err, s.files())
		}
	}
}

// files are those of the hand-over.
func (s *site) files() (names []string) {
	entries, _ := os.ReadDir(filepath.Join(s.home, layout.Restart))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// serves waits until a release answers, and gives its pid.
func (s *site) serves(version string) (pid int) {
	s.t.Helper()
	s.await("release "+version+" serves", func() bool {
		status, err := s.status()
		pid = int(status.PID)
		return err == nil && status.Version == version
	})
	return pid
}

// settled waits until nothing is under way, and the release serves.
func (s *site) settled(version string) (pid int) {
	s.t.Helper()
	s.await("the restart is settled", func() bool {
		left := slices.DeleteFunc(s.files(), func(name string) bool { return name == "guard.log" })
		return len(left) == 0
	})
	return s.serves(version)
}

// ask plans a restart.
func (s *site) ask() error {
	_, err := s.request(wire.RestartWhenIdleCommand{})
	return err
}

// request sends one, and gives the answer.
func (s *site) request(command wire.RestartWhenIdleCommand) (status wire.DaemonStatus, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	err = bus.Do(ctx, s.dialer(), func(ctx context.Context, c *bus.Client) (err error) {
		status, err = c.Control(ctx, command)
		return err
	})
	return status, err
}

// plan is the id of the plan that is under way.
func (s *site) plan() string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var detail wire.RestartDetail
	err := bus.Do(ctx, s.dialer(), func(ctx context.Context, c *bus.Client) (err error) {
		detail, err = c.RestartExplain(ctx, wire.RestartExplain{})
		return err
	})
	if err != nil || detail.ID == nil {
		s.t.Fatalf("no plan is under way: %+v, %v", detail, err)
	}
	return *detail.ID
}

// mustAskWithin plans a restart that waits for nothing longer than so many seconds.
func (s *site) mustAskWithin(seconds uint64) {
	s.t.Helper()
	_, err := s.request(wire.RestartWhenIdleCommand{MaxWaitSeconds: &seconds})
	if err != nil && !errors.Is(err, bus.ErrLost) {
		s.t.Fatalf("the restart was refused: %v", err)
	}
}

// busy has a message of the owner at an agent, which a restart waits for, until what it returns is called.
func (s *site) busy() (end func()) {
	s.t.Helper()
	gate := filepath.Join(s.root, "gate")
	scv, err := firstRelease()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(scv, "--home", s.home, "chat", "--send", gate)
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	s.await("the agent is at work", func() bool {
		status, err := s.status()
		return err == nil && status.Delegations.Active == 1
	})
	return func() {
		s.t.Helper()
		if err := os.WriteFile(gate, nil, 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
}

// mustAsk plans a restart, which may cut the very answer.
func (s *site) mustAsk() {
	s.t.Helper()
	if err := s.ask(); err != nil && !errors.Is(err, bus.ErrLost) {
		s.t.Fatalf("the restart was refused: %v", err)
	}
}

// configure replaces the agents of the site.
func (s *site) configure(agents string) {
	s.t.Helper()
	s.writeConfig(agents + "\n[notify]\nowner = [\"local:default\"]\n")
}

func (s *site) writeConfig(text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.home, "config.toml"), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}
