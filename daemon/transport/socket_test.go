package transport_test

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"scv/daemon/transport"
	"scv/wire"
	"scv/wire/bus"
)

// TestTheSocketIsNeverOpenToOthers looks at the socket as often as it can while it is made a hundred
// times, under a umask that closes nothing.
func TestTheSocketIsNeverOpenToOthers(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	path := t.TempDir() + "/home/scv.sock"
	stop, seen := make(chan struct{}), make(chan map[fs.FileMode]int)
	go func() {
		modes := map[fs.FileMode]int{}
		for {
			select {
			case <-stop:
				seen <- modes
				return
			default:
				if info, err := os.Lstat(path); err == nil {
					modes[info.Mode().Perm()]++
				}
			}
		}
	}()
	for range 100 {
		server, err := transport.Start(t.Context(), transport.Options{Log: quiet(), SocketPath: path, Identify: identify})
		if err != nil {
			t.Fatal(err)
		}
		server.Close()
	}
	close(stop)
	modes := <-seen
	if modes[0o600] == 0 || len(modes) != 1 {
		t.Errorf("the socket's modes, and how often each was seen: %v", modes)
	}
	if got := syscall.Umask(0); got != 0 {
		t.Errorf("the umask was left at %o", got)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder made for the socket: %v, %v", info.Mode(), err)
	}
}

func TestALongHomeGetsAShortSocket(t *testing.T) {
	home := "/" + strings.Repeat("h", 199)
	run := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", run)
	path := bus.SocketPath(home, "8973cbc5")
	if path != run+"/scv-8973cbc5/scv.sock" {
		t.Fatalf("the socket of a long home is %q", path)
	}
	open(t, transport.Options{SocketPath: path}, control(status))
	info, err := os.Stat(filepath.Dir(path))
	if err != nil || info.Mode().Perm() != 0o700 || int(info.Sys().(*syscall.Stat_t).Uid) != os.Getuid() {
		t.Errorf("its folder: %v, %v", info, err)
	}
	if _, err := client(t, bus.SocketDialer(path)).Control(t.Context(), wire.StatusCommand{}); err != nil {
		t.Error(err)
	}
}

func TestAStaleSocketIsReplacedAndNothingElse(t *testing.T) {
	path := t.TempDir() + "/scv.sock"
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	stale.Close()
	h := open(t, transport.Options{SocketPath: path}, control(status))
	h.Server.Close()
	if _, err := os.Lstat(path); err == nil {
		t.Error("the socket stays after Close")
	}
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := transport.Start(t.Context(), transport.Options{Log: quiet(), SocketPath: path, Identify: identify}); err == nil {
		t.Error("a file in the socket's place was replaced")
	}
}

func TestABadFolderIsRefused(t *testing.T) {
	open := t.TempDir() + "/open"
	if err := os.Mkdir(open, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	link := t.TempDir() + "/link"
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	foreign := t.TempDir() + "/foreign"
	if err := os.Mkdir(foreign, 0o700); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		if err := os.Chown(foreign, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	} else {
		foreign = "/"
	}
	for _, folder := range []string{open, link, foreign, t.TempDir() + "/a/b"} {
		o := transport.Options{Log: quiet(), SocketPath: folder + "/scv.sock", Identify: identify}
		if _, err := transport.Start(t.Context(), o); err == nil {
			t.Errorf("a socket was put into %q", folder)
		}
	}
}
