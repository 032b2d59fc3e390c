package transport_test

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"scv/daemon/transport"
)

func helloAs(t *testing.T, uid uint32, path string) string {
	t.Helper()
	copied := filepath.Join(filepath.Dir(path), "hello")
	if err := os.Link(os.Args[0], copied); err != nil { // where the other user can reach it
		if out, err := exec.Command("cp", os.Args[0], copied).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	defer os.Remove(copied)
	cmd := exec.Command(copied)
	cmd.Env = []string{helloAt + "=" + path}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// identifyUID asks the kernel, as the daemon does.
func identifyUID(conn *net.UnixConn) transport.Peer {
	p := transport.Peer{UID: -1}
	raw, err := conn.SyscallConn()
	if err != nil {
		return p
	}
	raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			p.PID, p.UID = int(cred.Pid), int(cred.Uid)
		}
	})
	return p
}

// TestOtherUsersAreRefused leaves every file open to the other user, so that only the check of the
// peer stands.
func TestOtherUsersAreRefused(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to act as another user")
	}
	folder, err := os.MkdirTemp("/tmp", "scv-uid")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	h := open(t, transport.Options{SocketPath: folder + "/scv.sock", Identify: identifyUID}, control(status))
	if err := errors.Join(os.Chmod(folder, 0o755), os.Chmod(h.SocketPath(), 0o666)); err != nil {
		t.Fatal(err)
	}
	for uid, want := range map[uint32]string{0: "last: PONG", 65534: "-ERR 'authorization violation: another user's daemon'"} {
		if got := helloAs(t, uid, h.SocketPath()); !strings.Contains(got, want) {
			t.Errorf("user %d was told %q", uid, got)
		}
	}
}
