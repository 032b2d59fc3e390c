package service

import (
	"net"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// listen is a manager's socket.
func listen(t *testing.T, name string) *net.UnixConn {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	return conn
}

func heard(t *testing.T, conn *net.UnixConn) string {
	t.Helper()
	b := make([]byte, 1<<10)
	n, err := conn.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(b[:n])
}

func environ(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func TestNotify(t *testing.T) {
	for name, socket := range map[string]string{
		"a file": filepath.Join(t.TempDir(), "notify"), "abstract": "@scv-test-" + strconv.Itoa(int(time.Now().UnixNano())),
	} {
		t.Run(name, func(t *testing.T) {
			if name == "abstract" && !abstractSockets {
				t.Skip("this system has no abstract sockets")
			}
			conn := listen(t, socket)
			n := NotifyOf(environ(map[string]string{"NOTIFY_SOCKET": socket}), 7)
			if err := n.Tell("READY=1", "STATUS=serving"); err != nil {
				t.Fatal(err)
			}
			if got := heard(t, conn); got != "READY=1\nSTATUS=serving" {
				t.Errorf("it heard %q", got)
			}
		})
	}
}

// Nobody listens, or the socket is gone: that is an error to log, and no reason to wait or to end.
func TestNotifyWithoutAListener(t *testing.T) {
	n := NotifyOf(environ(map[string]string{"NOTIFY_SOCKET": filepath.Join(t.TempDir(), "gone")}), 7)
	if err := n.Tell("READY=1"); err == nil {
		t.Error("nobody listens, and there is no error")
	}
	if err := (*Notify)(nil).Tell("READY=1"); err != nil {
		t.Error(err)
	}
}

func TestWatchdogIsForTheProcessThatIsMeant(t *testing.T) {
	for _, c := range []struct {
		socket, usec, pid string
		told              bool
		want              time.Duration
	}{
		{"", "60000000", "", false, 0},
		{"vsock:2:1234", "60000000", "", false, 0},
		{"relative", "60000000", "", false, 0},
		{"/run/n", "", "", true, 0},
		{"/run/n", "60000000", "", true, time.Minute},
		{"/run/n", "60000000", "42", true, time.Minute},
		{"/run/n", "60000000", "43", true, 0},
		{"/run/n", "-1", "", true, 0},
		{"/run/n", "0", "42", true, 0},
		{"/run/n", "many", "", true, 0},
		{"/run/n", "9223372036854775807", "", true, 0},
	} {
		n := NotifyOf(environ(map[string]string{"NOTIFY_SOCKET": c.socket, "WATCHDOG_USEC": c.usec, "WATCHDOG_PID": c.pid}), 42)
		if (n != nil) != c.told {
			t.Errorf("%+v: told is %v", c, n != nil)
		}
		if n != nil && n.watchdog != c.want {
			t.Errorf("%+v: the watchdog is %s", c, n.watchdog)
		}
	}
}
