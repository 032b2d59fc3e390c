package bus

import (
	"net"

	"golang.org/x/sys/unix"
)

const maxSocketPath = 107 // sun_path of unix(7) holds 108 bytes with the final NUL

// serverUID is the user who called listen on the other end.
func serverUID(conn *net.UnixConn) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err == nil {
		err = credErr
	}
	if err != nil {
		return 0, err
	}
	return int(cred.Uid), nil
}
