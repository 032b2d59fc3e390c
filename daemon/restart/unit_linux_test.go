package restart_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// systemdRun stands in for systemd-run: it writes down how it is called and with what environment, and really
// starts the program, as systemd does: outside of whoever asks, with an environment that is not his.
const systemdRun = `#!/bin/sh
printf '%s\n' "$*" >>'ROOT/runs'
env >>'ROOT/run-environ'
[ ! -e 'ROOT/deny' ] || { echo 'Access denied' >&2; exit 1; }
kind=simple dir=/
while [ "$1" != -- ]; do
	case "$1" in
	--service-type=*) kind=${1#*=} ;;
	--working-directory=*) dir=${1#*=} ;;
	esac
	shift
done
shift
[ "$kind" = simple ] || exec true
cd "$dir" && exec setsid --fork env -i PATH=/usr/bin:/bin SCV_HOME="$SCV_HOME" INVOCATION_ID=of-the-guard "$@" </dev/null >>'ROOT/log' 2>&1
`

// heard is what a service manager heard, and from whom.
type heard struct {
	pid  int
	text string
	at   time.Time
}

// unitManager is the daemon's end of a service manager.
type unitManager struct {
	mu   sync.Mutex
	all  []heard
	conn *net.UnixConn
}

// asUnit makes the site's daemon one that runs as a unit with a watchdog.
func (s *site) asUnit(watchdog time.Duration) *unitManager {
	s.t.Helper()
	path := filepath.Join(s.root, "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		s.t.Fatal(err)
	}
	raw, err := conn.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PASSCRED, 1) })
	}
	if err != nil {
		s.t.Fatal(err)
	}
	tools := filepath.Join(s.root, "tools")
	if err := os.Mkdir(tools, 0o700); err != nil {
		s.t.Fatal(err)
	}
	script := strings.ReplaceAll(systemdRun, "ROOT", s.root)
	if err := os.WriteFile(filepath.Join(tools, "systemd-run"), []byte(script), 0o700); err != nil {
		s.t.Fatal(err)
	}
	s.env = append(s.env, "INVOCATION_ID=of-the-daemon", "NOTIFY_SOCKET="+path, fmt.Sprintf("WATCHDOG_USEC=%d", watchdog.Microseconds()),
		"PATH="+tools+":"+os.Getenv("PATH"), "MY_KEY=secret-of-mine")
	m := &unitManager{conn: conn}
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.listen()
	}()
	s.t.Cleanup(func() {
		conn.Close()
		<-done
	})
	return m
}

func (m *unitManager) listen() {
	b, oob := make([]byte, 4<<10), make([]byte, 256)
	for {
		n, on, _, _, err := m.conn.ReadMsgUnix(b, oob)
		if err != nil {
			return
		}
		h := heard{text: string(b[:n]), at: time.Now()}
		if messages, err := unix.ParseSocketControlMessage(oob[:on]); err == nil && len(messages) > 0 {
			if cred, err := unix.ParseUnixCredentials(&messages[0]); err == nil {
				h.pid = int(cred.Pid)
			}
		}
		m.mu.Lock()
		m.all = append(m.all, h)
		m.mu.Unlock()
	}
}

// of are the messages that have a word.
func (m *unitManager) of(word string) (found []heard) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, h := range m.all {
		if slices.Contains(strings.Split(h.text, "\n"), word) {
			found = append(found, h)
		}
	}
	return found
}

// TestRestartOfAUnit goes to another release and back while the daemon runs as a unit: the service manager hears
// the same process before and after, its watchdog is kept content, and the guard is another unit, whose words and
// files hold no secret.
func TestRestartOfAUnit(t *testing.T) {
	first, second := program(t, firstRelease), program(t, secondRelease)
	s := newSite(t, first, "a folder with blanks/scv")
	m := s.asUnit(2 * time.Second)
	s.startAlone()
	pid := s.serves("1.0.0")
	s.await("it says that it is ready", func() bool { return len(m.of("READY=1")) == 1 })
	for i, release := range []string{second, first} {
		s.install(release)
		s.mustAsk()
		if got := s.settled(fmt.Sprintf("%d.0.0", 2-i)); got != pid {
			t.Errorf("the pid was %d and is %d", pid, got)
		}
		s.await("it says that it is ready again", func() bool { return len(m.of("READY=1")) == i+2 })
	}
	since := len(m.of("WATCHDOG=1"))
	s.await("signs of life go on", func() bool { return len(m.of("WATCHDOG=1")) > since+2 })
	for _, h := range append(m.of("READY=1"), m.of("WATCHDOG=1")...) {
		if h.pid != pid {
			t.Errorf("process %d said %q, and the daemon is %d", h.pid, h.text, pid)
		}
	}
	runs, err := os.ReadFile(filepath.Join(s.root, "runs"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(runs), "--unit=scv-guard-"); n != 2 {
		t.Errorf("%d guards were started as units: %s", n, runs)
	}
	if strings.Contains(string(runs), "secret-of-mine") {
		t.Errorf("a secret is in the words of a unit: %s", runs)
	}
	lent, err := os.ReadFile(filepath.Join(s.root, "run-environ"))
	if err != nil || !strings.Contains(string(lent), "SCV_HOME=") || strings.Contains(string(lent), "WATCHDOG_USEC=") || strings.Contains(string(lent), "NOTIFY_SOCKET=") {
		t.Errorf("systemd-run was started with %s (%v)", lent, err)
	}
	if err := unix.Kill(pid, unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.await("it says that it stops", func() bool { return len(m.of("STOPPING=1")) == 1 })
}

// TestUnitThatHangs: a daemon that does nothing any more says nothing any more, though it still is there.
func TestUnitThatHangs(t *testing.T) {
	s := newSite(t, program(t, firstRelease), "bin/scv")
	m := s.asUnit(time.Second)
	s.startAlone()
	pid := s.serves("1.0.0")
	s.await("signs of life", func() bool { return len(m.of("WATCHDOG=1")) > 2 })
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	last := func() time.Time {
		all := m.of("WATCHDOG=1")
		return all[len(all)-1].at
	}
	s.await("silence of more than the watchdog's time", func() bool { return time.Since(last()) > 2*time.Second })
	if err := unix.Kill(pid, unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	n := len(m.of("WATCHDOG=1"))
	s.await("signs of life again", func() bool { return len(m.of("WATCHDOG=1")) > n })
}

// TestUnitWithoutAWayOutside: where systemd starts nothing for us, a restart is refused before anything happens,
// with what systemd said; and once it does, the same request works.
func TestUnitWithoutAWayOutside(t *testing.T) {
	first, second := program(t, firstRelease), program(t, secondRelease)
	s := newSite(t, first, "bin/scv")
	s.asUnit(time.Minute)
	deny := filepath.Join(s.root, "deny")
	if err := os.WriteFile(deny, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.startAlone()
	pid := s.serves("1.0.0")
	s.install(second)
	if err := s.ask(); err == nil || !strings.Contains(err.Error(), "runs as a unit of systemd") || !strings.Contains(err.Error(), "Access denied") {
		t.Errorf("the answer was %v", err)
	}
	if left := s.files(); len(left) > 0 {
		t.Errorf("files of a restart that was refused: %v", left)
	}
	if err := os.Remove(deny); err != nil {
		t.Fatal(err)
	}
	s.mustAsk()
	if got := s.settled("2.0.0"); got != pid {
		t.Errorf("the pid was %d and is %d", pid, got)
	}
}

// TestStandInOfAUnit: the new release dies, and no manager starts it again. The guard, in a unit of its own, serves
// with the old release and the daemon's own environment, but not as the unit that the daemon was.
func TestStandInOfAUnit(t *testing.T) {
	first, second := program(t, firstRelease), program(t, secondRelease)
	s := newSite(t, first, "bin/scv")
	m := s.asUnit(time.Minute)
	s.startAlone()
	pid := s.serves("1.0.0")
	s.install(withFaults(t, second, "restart.serving=crash@1"))
	s.mustAsk()
	s.await("somebody else serves with the old release", func() bool {
		status, err := s.status()
		return err == nil && status.Version == "1.0.0" && int(status.PID) != pid
	})
	standIn := s.serves("1.0.0")
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", standIn))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"MY_KEY=secret-of-mine", "INVOCATION_ID=of-the-guard"} {
		if !bytes.Contains(env, []byte(want+"\x00")) {
			t.Errorf("it has no %s", want)
		}
	}
	for _, never := range []string{"NOTIFY_SOCKET=", "WATCHDOG_USEC=", "of-the-daemon"} {
		if bytes.Contains(env, []byte(never)) {
			t.Errorf("it has %s", never)
		}
	}
	for _, h := range m.of("READY=1") {
		if h.pid != pid {
			t.Errorf("process %d spoke for the unit", h.pid)
		}
	}
	if out, err := exec.Command(first, "--home", s.home, "status").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
