package process

import (
	"net"
	"slices"

	"scv/daemon/caller"
)

const (
	maxChain = 256 // links; a real chain has fewer than 30
	maxWalks = 4   // one and up to 3 more when a link changed under way
)

// Facts reads who is at the other end of a Unix socket: its user, and the chain from it up to the first
// process. The peer is pinned before the walk and looked at after it, so Alive says that the walk was
// about the process that connected and not about a later one with its pid. On Linux before 6.5 and on
// macOS the pin is made from the pid: there a pid used again while the connection was queued is a hole.
//
// A user of -1 means that nothing could be told. It never blocks.
func Facts(conn *net.UnixConn) (uid int, f caller.Facts) {
	pid, uid, pin := peerOf(conn)
	defer pin.close()
	f.Chain, f.Complete = ancestry(pid)
	f.Alive = pin.alive() // last: only now is it known whom the walk was about
	return uid, f
}

// PeerPID is the process at the other end of a Unix socket, told without a look at it; 0 for unknown.
func PeerPID(conn *net.UnixConn) int {
	pid, _, pin := peerOf(conn)
	pin.close()
	return pid
}

// ancestry is the chain from pid upwards, the process itself first. It is complete when it ends at pid 1
// or 0 and was still the same when it was read a second time.
func ancestry(pid int) (chain []caller.Link, complete bool) {
	for range maxWalks {
		chain, complete = climb(pid)
		if complete && !slices.ContainsFunc(chain, moved) {
			return chain, true
		}
	}
	return chain, false
}

// climb reads the chain once. Its last link is pid 1, or the first process of our pid namespace that has
// come in from outside: both have parent 0.
func climb(pid int) (chain []caller.Link, complete bool) {
	for pid > 0 && len(chain) < maxChain {
		p, img, err := readStat(pid)
		if err != nil {
			return chain, false
		}
		link := caller.Link{PID: pid, PPID: p.PPID, PGID: p.PGID, SID: p.SID, Start: p.Start}
		tag, readable := readTag(pid)
		link.Tag, link.EnvReadable = tag, readable && img != image{} // without memory it only seems empty
		around, _ := cgroupsAround(pid)
		for _, c := range around {
			link.Cgroups = append(link.Cgroups, c.Inode)
		}
		chain = append(chain, link)
		pid = p.PPID
	}
	return chain, pid == 0 && len(chain) > 0
}

// moved reports a link that has ended or got another parent since it was read: what is above it may
// then be of another process.
func moved(l caller.Link) bool {
	p, _, err := readStat(l.PID)
	return err != nil || p.Start != l.Start || p.PPID != l.PPID
}
