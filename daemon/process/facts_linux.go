package process

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// pin holds on to a process by its pidfd; -1 holds nothing.
type pin int

// peerOf asks the socket. A peer that cannot be pinned has ended.
func peerOf(conn *net.UnixConn) (pid, uid int, held pin) {
	pid, uid, held = 0, -1, -1
	raw, err := conn.SyscallConn()
	if err != nil {
		return pid, uid, held
	}
	_ = raw.Control(func(fd uintptr) { // fails only when the connection is closed: nothing can be told
		cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err != nil {
			return
		}
		pid, uid = int(cred.Pid), int(cred.Uid)
		pidfd, err := opened(func() (int, error) {
			return unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PEERPIDFD)
		})
		if errors.Is(err, unix.ENOPROTOOPT) {
			pidfd, err = opened(func() (int, error) { return unix.PidfdOpen(pid, 0) })
		}
		if err == nil {
			held = pin(pidfd)
		}
	})
	return pid, uid, held
}

// alive polls the pidfd: it becomes readable when its process ends.
func (p pin) alive() bool {
	if p < 0 {
		return false
	}
	poll := []unix.PollFd{{Fd: int32(p), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(poll, 0)
		if !errors.Is(err, unix.EINTR) {
			return err == nil && n == 0
		}
	}
}

func (p pin) close() {
	if p >= 0 {
		closed(int(p))
	}
}
