package process

import (
	"errors"
	"net"
	"slices"

	"golang.org/x/sys/unix"

	"scv/daemon/caller"
)

const (
	maxChain = 256 // links; a real chain has fewer than 30
	maxWalks = 4   // one and up to 3 more when a link changed under way
)

// Facts reads who is at the other end of a Unix socket: its user, and the chain from it up to the first
// process. The peer is pinned by a pidfd before the walk and polled after it, so Alive says that the
// walk was about the process that connected and not about a later one with its pid. On kernels before
// 6.5 the pidfd is opened from the pid: there a pid used again while the connection was queued is a hole.
//
// A user of -1 means that nothing could be told. It never blocks.
func Facts(conn *net.UnixConn) (uid int, f caller.Facts) {
	pid, uid, pidfd := peer(conn)
	if pidfd < 0 {
		return uid, caller.Facts{}
	}
	defer unix.Close(pidfd)
	f.Chain, f.Complete = ancestry(pid)
	f.Alive = running(pidfd)
	return uid, f
}

// peer asks the socket. The pidfd is -1 when the process has ended or cannot be told.
func peer(conn *net.UnixConn) (pid, uid, pidfd int) {
	pid, uid, pidfd = 0, -1, -1
	raw, err := conn.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err != nil {
			return
		}
		pid, uid = int(cred.Pid), int(cred.Uid)
		got, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PEERPIDFD)
		if errors.Is(err, unix.ENOPROTOOPT) {
			got, err = unix.PidfdOpen(pid, 0)
		}
		if err == nil {
			pidfd = got
		}
	})
	return
}

// running polls a pidfd: it becomes readable when its process ends.
func running(pidfd int) bool {
	poll := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(poll, 0)
		if !errors.Is(err, unix.EINTR) {
			return err == nil && n == 0
		}
	}
}

// ancestry is the chain from pid upwards, the process itself first. It is complete when it ends at pid 1
// or 0 and was still the same when it was read a second time.
func ancestry(pid int) (chain []caller.Link, complete bool) {
	for range maxWalks {
		chain, complete = climb(pid)
		if complete && slices.IndexFunc(chain, moved) < 0 {
			return chain, true
		}
	}
	return chain, false
}

func climb(pid int) (chain []caller.Link, complete bool) {
	for len(chain) < maxChain {
		if pid == 0 {
			return chain, len(chain) > 0 // above is outside our pid namespace
		}
		p, _, err := readStat(pid)
		if err != nil {
			return chain, false
		}
		link := caller.Link{PID: pid, PPID: p.PPID, PGID: p.PGID, SID: p.SID, Start: p.Start}
		link.Tag, link.EnvReadable = readTag(pid)
		chain = append(chain, link)
		pid = p.PPID
	}
	return chain, false
}

// moved reports a link that has ended or got another parent since it was read: what is above it may
// then be of another process.
func moved(l caller.Link) bool {
	p, _, err := readStat(l.PID)
	return err != nil || p.Start != l.Start || p.PPID != l.PPID
}
