package transport

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"scv/internal/failpoint"
)

const (
	// acceptPause is how long the accept loop rests after an error, such as too many open files.
	acceptPause = 50 * time.Millisecond
	// lookLimit is how long a look at one newcomer may keep the next ones waiting.
	lookLimit = time.Second
	// maxQueue is how many connections the kernel keeps waiting. Who finds it full asks again at once, and
	// waits less than behind the thousands that it would keep.
	maxQueue = 512
)

// socket is one listener and the file it made: another file may stand at the same path later.
type socket struct {
	*net.UnixListener
	path string
	file fs.FileInfo
}

// listen opens the socket, readable and writable by us alone from the first moment on.
func listen(path string) (*socket, error) {
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
	listener.SetUnlinkOnClose(false) // by then the path may be another's: see end
	if raw, err := listener.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = unix.Listen(int(fd), maxQueue) }) // it listens in any case
	}
	file, err := os.Lstat(path)
	if err != nil {
		listener.Close()
		return nil, fmt.Errorf("cannot find the socket just made: %w", err)
	}
	return &socket{UnixListener: listener, path: path, file: file}, nil
}

// inherited is a socket that the program before us in this process listened on at path.
func inherited(left *os.File, path string) (*socket, error) {
	l, err := net.FileListener(left) // on a copy
	if err != nil {
		return nil, fmt.Errorf("cannot listen on what was left open: %w", err)
	}
	left.Close()
	listener, ok := l.(*net.UnixListener)
	if !ok {
		l.Close()
		return nil, fmt.Errorf("cannot listen on what was left open: it is a %T", l)
	}
	listener.SetUnlinkOnClose(false)
	file, err := os.Lstat(path)
	if err != nil {
		file = nil // somebody removed it meanwhile, which keepSocket finds and mends
	}
	return &socket{UnixListener: listener, path: path, file: file}, nil
}

// leave stops taking connections. The socket itself stays open, as the file it returns, and the kernel
// queues who connects.
func (l *socket) leave() (*os.File, error) {
	if err := l.SetDeadline(time.Unix(1, 0)); err != nil {
		return nil, err
	}
	kept, err := l.File()
	if err != nil {
		return nil, err
	}
	return kept, l.Close()
}

// lost reports that the path no longer leads here. As long as we listen, no other file can get our
// inode's number.
func (l *socket) lost() bool {
	file, err := os.Lstat(l.path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist) // else it cannot be told
	}
	return !os.SameFile(file, l.file)
}

// end stops listening and removes the file, if it is still ours.
func (l *socket) end() error {
	var err error
	if !l.lost() {
		if err = errors.Join(failpoint.Hit(failpoint.SocketRemove), os.Remove(l.path)); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	return errors.Join(err, l.Close())
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

// accept takes connections until the socket is closed. Few newcomers are looked at at once, and the
// next wait in the kernel's queue: a flood of them then cuts nobody before it is known who that is.
func (s *Server) accept(at *socket) {
	var last spare
	last.keep()
	defer last.give()
	short := false
	for {
		conn, err := at.AcceptUnix()
		wasShort := short
		short = noDescriptors(err)
		switch {
		case errors.Is(err, net.ErrClosed), errors.Is(err, os.ErrDeadlineExceeded): // the latter by leave
			return
		case short:
			if !wasShort {
				s.log.Warn("no descriptors are left; letting in one connection after the other", "err", err)
			}
			s.acceptLast(at, &last)
		case err != nil:
			s.log.Warn("cannot accept a connection", "err", err)
			time.Sleep(acceptPause)
		default:
			s.receive(conn)
		}
	}
}

// receive has a newcomer looked at and served. One of a crowd waits for its look until it has spoken:
// reading a chain of processes thousands of times would take the processors from those who do. Nil where
// nobody is let in any more.
func (s *Server) receive(conn *net.UnixConn) *connection {
	pid := 0
	if s.options.PID != nil {
		pid = s.options.PID(conn)
	}
	c, err := s.registry.admit(conn, pid)
	if err != nil {
		conn.Close()
		return nil
	}
	if !c.crowd {
		s.looks <- struct{}{}
	}
	s.serve(c, func() Peer {
		if c.crowd {
			s.looks <- struct{}{}
		}
		return s.look(conn)
	})
	return c
}

// look tells who is at the other end. It makes room for the next look when it is done, and also when it
// takes too long.
func (s *Server) look(conn *net.UnixConn) Peer {
	next := sync.OnceFunc(func() { <-s.looks })
	defer next()
	late := time.AfterFunc(lookLimit, next)
	defer late.Stop()
	return s.options.Identify(conn)
}
