package transport

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"scv/internal/failpoint"
)

// acceptPause is how long the accept loop rests after an error, such as too many open files.
const acceptPause = 50 * time.Millisecond

// listen opens the socket, readable and writable by us alone from the first moment on.
func listen(path string) (*net.UnixListener, error) {
	if err := prepareFolder(filepath.Dir(path)); err != nil {
		return nil, err
	}
	if err := removeStale(path); err != nil {
		return nil, err
	}
	old := syscall.Umask(0o177) // of the whole process, hence no longer than needed
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	syscall.Umask(old)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %q: %w", path, err)
	}
	return listener, nil
}

// prepareFolder makes the socket's folder where it is missing. One that another user owns or can
// write to is refused: the socket in it could be exchanged.
func prepareFolder(folder string) error {
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("cannot make the folder of the socket: %w", err)
	}
	info, err := os.Lstat(folder)
	if err != nil {
		return fmt.Errorf("cannot look at the folder of the socket: %w", err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("cannot put the socket in %q: it is no folder", folder)
	case !ok || int(owner.Uid) != os.Getuid():
		return fmt.Errorf("cannot put the socket in %q: another user owns it", folder)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("cannot put the socket in %q: other users can write to it (chmod go-w it)", folder)
	}
	return nil
}

// removeStale removes the socket of a daemon that is gone: the caller holds daemon.lock.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("cannot look for an old socket: %w", err)
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("cannot listen on %q: something that is no socket stands there", path)
	}
	if err := errors.Join(failpoint.Hit(failpoint.SocketRemove), os.Remove(path)); err != nil {
		return fmt.Errorf("cannot remove the old socket: %w", err)
	}
	return nil
}

// accept takes connections until the socket is closed.
func (s *Server) accept() {
	for {
		conn, err := s.listener.AcceptUnix()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			s.log.Warn("cannot accept a connection", "err", err)
			time.Sleep(acceptPause)
		default:
			s.serve(conn, func() Peer { return s.options.Identify(conn) })
		}
	}
}
