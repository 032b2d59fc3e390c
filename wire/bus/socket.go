package bus

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// SocketPath is where the daemon of a home listens: in the home, or in a short folder where the
// kernel has no room for so long a path. instance is the id of the home, 8 hex digits.
func SocketPath(home, instance string) string {
	path := filepath.Join(home, "scv.sock")
	if len(path) <= maxSocketPath {
		return path
	}
	if run := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(run) {
		path = filepath.Join(run, "scv-"+instance, "scv.sock")
		if len(path) <= maxSocketPath {
			return path
		}
	}
	folder := "scv-" + strconv.Itoa(os.Getuid()) + "-" + instance
	return filepath.Join(os.TempDir(), folder, "scv.sock")
}

// A Dialer makes one connection to a daemon.
type Dialer interface {
	Dial(ctx context.Context) (net.Conn, error)
}

// SocketDialer dials the Unix socket at path. It refuses a socket that another user serves: in a
// shared folder anybody could have put one there.
func SocketDialer(path string) Dialer { return socketDialer(path) }

type socketDialer string

const fullQueuePause = 10 * time.Millisecond

func (path socketDialer) Dial(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	for {
		conn, err := d.DialContext(ctx, "unix", string(path))
		switch {
		case err == nil:
			return path.verified(conn)
		case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ECONNREFUSED):
			return nil, fmt.Errorf("%w (nothing listens on %q)", ErrNoDaemon, string(path))
		case errors.Is(err, syscall.EAGAIN): // the queue of the socket is full
			if err := pause(ctx, fullQueuePause); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("cannot reach the daemon: %w", err)
		}
	}
}

func (path socketDialer) verified(conn net.Conn) (net.Conn, error) {
	uid, err := serverUID(conn.(*net.UnixConn))
	if err == nil && uid != os.Getuid() {
		err = fmt.Errorf("user %d serves it, and you are user %d", uid, os.Getuid())
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("cannot trust the socket %q: %w", string(path), err)
	}
	return conn, nil
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
