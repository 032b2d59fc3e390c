package process

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"scv/internal/testexe"
)

const hardenedVariable = "SCV_TEST_HARDENED"

// What must still work for an ordinary user once Harden has made our own /proc files root's: the same
// test runs again in a process of its own, as nobody where we are root.
func TestHardenedOrdinaryUser(t *testing.T) {
	if os.Getenv(hardenedVariable) != "" {
		hardened(t)
		return
	}
	dir, err := os.MkdirTemp("", "scv-hardened-") // not t.TempDir: nobody must be able to go in
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	binary := copyOfOurselves(t, dir)
	cmd := exec.CommandContext(t.Context(), binary, "-test.run=^TestHardenedOrdinaryUser$", "-test.v")
	cmd.Env = []string{hardenedVariable + "=1", "TMPDIR=" + dir}
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestHardenedOrdinaryUser") {
		t.Errorf("%v\n%s", err, out)
	}
}

func copyOfOurselves(t *testing.T, dir string) string {
	t.Helper()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	path := filepath.Join(dir, "test")
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func hardened(t *testing.T) {
	if err := Harden(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile("/proc/self/environ"); os.Getuid() != 0 && err == nil {
		t.Error("our environment can still be read: Harden did nothing")
	}
	var core unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &core); err != nil || core.Max != 0 {
		t.Errorf("core files: %+v, %v", core, err)
	}
	path, accept := listen(t)
	file := filepath.Join(t.TempDir(), "caller")
	c := spawn(t, Spec{Env: []string{tagOf(t)}}, testexe.Script{{WritePID: file}, {Connect: path}, {SleepMillis: forever}})
	conn := accept()
	peer := pidIn(t, file)
	if uid, facts := Facts(conn); uid != os.Getuid() || !facts.Alive || !facts.Complete ||
		facts.Chain[0].Tag == "" || !facts.Chain[0].EnvReadable {
		t.Errorf("uid %d, facts %+v", uid, facts)
	}
	is := func(p Proc) bool { return p.ID == peer }
	if found := scan(t).Tagged(instance, handleOf(t)); !slices.ContainsFunc(found, is) {
		t.Errorf("the child's tag was not seen: %v", found)
	}
	if self, err := Self(); err != nil || !self.Alive() {
		t.Errorf("we do not know ourselves: %v", err)
	}
	stop(t, runOf(t, c))
}
