//go:build !linux

package bus

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

const maxSocketPath = 103 // sun_path of the BSDs holds 104 bytes with the final NUL

// serverUID is the owner of the socket's folder: only that user can have put the socket there, as
// long as the folder is closed to others.
func serverUID(conn *net.UnixConn) (int, error) {
	folder := filepath.Dir(conn.RemoteAddr().String())
	info, err := os.Lstat(folder)
	if err != nil {
		return 0, err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || info.Mode().Perm()&0o022 != 0 {
		return 0, fmt.Errorf("the folder %q is open to other users", folder)
	}
	return int(owner.Uid), nil
}
