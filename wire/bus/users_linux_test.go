package bus

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestAStrangersSocketIsRefused has another user put a socket where the daemon's belongs.
func TestAStrangersSocketIsRefused(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to act as another user")
	}
	folder, err := os.MkdirTemp("/tmp", "scv-uid")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(folder, "listen")
	if out, err := exec.Command("cp", os.Args[0], copied).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	path := filepath.Join(folder, "scv.sock")
	stranger := exec.Command(copied)
	stranger.Env = []string{listenAt + "=" + path}
	stranger.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	life, err := stranger.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err := stranger.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		life.Close()
		stranger.Wait()
	})
	if line, err := bufio.NewReader(said).ReadString('\n'); line != "listening\n" {
		t.Fatalf("the stranger says %q, %v", line, err)
	}
	_, err = SocketDialer(path).Dial(t.Context())
	if err == nil || !strings.Contains(err.Error(), "user 65534 serves it") {
		t.Errorf("%v", err)
	}
}
