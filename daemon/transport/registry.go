package transport

import (
	"container/list"
	"fmt"
	"net"
	"sync"
	"syscall"
)

const (
	maxConnections = 1024
	maxHalfOpen    = 256 // that have not sent their CONNECT yet
	ownDescriptors = 128 // kept for the store, agents and looks at processes, which a kill needs
)

// capacity is how many connections and half-open ones there may be, so that however many come some
// descriptors are left for ourselves.
func capacity() (connections, halfOpen int) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur >= maxConnections+ownDescriptors {
		return maxConnections, maxHalfOpen // it cannot fail with these arguments
	}
	have := int(limit.Cur)
	connections = max(have-ownDescriptors, have/4)
	return connections, min(maxHalfOpen, max(connections/4, 1))
}

// connection is one client. Its fields after outer are set once, by registry.open.
type connection struct {
	outer net.Conn      // to the client
	half  *list.Element // in registry.half while it has not sent its CONNECT

	name  string // chosen by the client, 128 bits; its inbox is _INBOX_<name>
	token string // the one-time password that stands for it
	user  string // peer-<pid>-<number>, the verified user of its requests
	peer  Peer
}

// registry knows the live connections.
type registry struct {
	connections, halfOpen int // may be there; see capacity

	mu     sync.Mutex
	closed bool
	number uint64 // of the last connection opened
	live   map[*connection]struct{}
	half   *list.List             // of *connection, oldest first
	names  map[string]struct{}    // of open connections
	tokens map[string]*connection // not used yet
	users  map[string]Peer
}

func newRegistry() registry {
	connections, halfOpen := capacity()
	return registry{
		connections: connections, halfOpen: halfOpen,
		live: map[*connection]struct{}{}, half: list.New(), names: map[string]struct{}{},
		tokens: map[string]*connection{}, users: map[string]Peer{},
	}
}

// admit takes one more connection. Where too many have not said who they are, the oldest of those is
// cut: it had its time, and a newcomer may be the owner.
func (r *registry) admit(outer net.Conn) (*connection, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return nil, net.ErrClosed
	case r.half.Len() >= r.halfOpen:
		oldest := r.half.Remove(r.half.Front()).(*connection)
		oldest.half = nil
		oldest.outer.Close()
	case len(r.live) >= r.connections:
		return nil, errFull
	}
	c := &connection{outer: outer}
	c.half = r.half.PushBack(c)
	r.live[c] = struct{}{}
	return c, nil
}

// open makes a connection a peer under the name it chose.
func (r *registry) open(c *connection, name string, p Peer) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.half == nil {
		return net.ErrClosed // cut by admit
	}
	if _, used := r.names[name]; used {
		return errNameUsed // who knows another's name could read its inbox
	}
	r.half.Remove(c.half)
	c.half = nil
	r.number++
	c.name, c.token, c.peer = name, secret(), p
	c.user = fmt.Sprintf("peer-%d-%d", p.PID, r.number)
	r.names[name] = struct{}{}
	r.tokens[c.token] = c
	r.users[c.user] = p
	return nil
}

// redeem is the connection a token stands for. A token counts once.
func (r *registry) redeem(token string) (*connection, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, ok := r.tokens[token]
	delete(r.tokens, token)
	return c, ok
}

func (r *registry) peer(user string) (Peer, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, ok := r.users[user]
	return p, ok
}

// forget removes every trace of a connection.
func (r *registry) forget(c *connection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.live, c)
	if c.half != nil {
		r.half.Remove(c.half)
		c.half = nil
	}
	if c.user == "" {
		return
	}
	delete(r.names, c.name)
	delete(r.tokens, c.token)
	delete(r.users, c.user)
}

// close admits nobody any more.
func (r *registry) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}

// cutAll ends every connection at once.
func (r *registry) cutAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.live {
		c.outer.Close()
	}
}
