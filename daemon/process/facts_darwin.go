package process

import (
	"net"

	"golang.org/x/sys/unix"
)

// pin remembers the identity of a process, for want of a pidfd; the zero value is nobody.
type pin ID

// peerOf asks the socket.
func peerOf(conn *net.UnixConn) (pid, uid int, held pin) {
	pid, uid = 0, -1
	raw, err := conn.SyscallConn()
	if err != nil {
		return pid, uid, held
	}
	_ = raw.Control(func(fd uintptr) { // fails only when the connection is closed: nothing can be told
		cred, err := unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
		if err != nil {
			return
		}
		uid = int(cred.Uid)
		if pid, err = unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID); err != nil {
			return
		}
		if id, err := Lookup(pid); err == nil {
			held = pin(id)
		}
	})
	return pid, uid, held
}

func (p pin) alive() bool { return p != pin{} && ID(p).Alive() }

func (p pin) close() {}
