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
	maxOfRun       = 64  // of one delegated run
	maxOfProcess   = 32  // of these, of one process; half of them make it a crowd
	maxLooks       = 32  // at newcomers, at the same time
	ownDescriptors = 128 // kept for the store, agents and looks at processes, which a kill needs
)

// limits is how many connections there may be.
type limits struct {
	all      int // that are known to be ours
	inside   int // of all delegated runs together: the rest is kept for the owner
	run      int // of one delegated run
	halfOpen int // that have not sent their CONNECT; those that nobody knows yet are among them
	process  int // of these, of one process
	looks    int // at newcomers, at the same time
}

// capacity is the limits under which, however many come, some descriptors are left for ourselves.
func capacity() limits {
	all, halfOpen := maxConnections, maxHalfOpen
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err == nil && limit.Cur < maxConnections+ownDescriptors { // it cannot fail
		have := int(limit.Cur)
		all = max(have-ownDescriptors, have/4)
		halfOpen = min(maxHalfOpen, max(all/4, 1))
	}
	return limits{
		all: all, inside: all / 2, run: min(maxOfRun, max(all/4, 1)),
		halfOpen: halfOpen, process: min(maxOfProcess, max(halfOpen/8, 1)), looks: min(maxLooks, max(halfOpen/2, 1)),
	}
}

// connection is one client. Its fields after peer are set once, by registry.open.
type connection struct {
	outer net.Conn      // to the client
	pid   int           // of who made it; 0 is unknown
	crowd bool          // its process had many that said nothing: this one is looked at once it speaks
	queue *list.List    // one of the registry's three while it has not sent its CONNECT
	half  *list.Element // in queue
	gone  chan struct{} // closed at its end
	known bool          // peer is set, and the connection is counted
	peer  Peer

	name  string // chosen by the client, 128 bits; its inbox is _INBOX_<name>
	token string // the one-time password that stands for it
	user  string // peer-<pid>-<number>, the verified user of its requests
}

// registry knows the live connections.
type registry struct {
	limits

	mu         sync.Mutex
	closed     bool
	number     uint64 // of the last connection opened
	live       map[*connection]struct{}
	half       *list.List             // of *connection that may be the owner's, oldest first
	halfInside *list.List             // of *connection inside a run, oldest first
	halfCrowd  *list.List             // of *connection that is one of a crowd, oldest first
	halfOf     map[int]int            // how many of all these a process has
	known      int                    // connections whose peer is known
	within     int                    // of these, inside a run
	ofRun      map[string]int         // of these, by run; "" is some run
	names      map[string]struct{}    // of open connections
	tokens     map[string]*connection // not used yet
	users      map[string]Peer
}

func newRegistry() registry {
	return registry{
		limits: capacity(), live: map[*connection]struct{}{}, half: list.New(), halfInside: list.New(), halfCrowd: list.New(),
		halfOf: map[int]int{}, ofRun: map[string]int{},
		names: map[string]struct{}{}, tokens: map[string]*connection{}, users: map[string]Peer{},
	}
}

// admit takes one more connection, of the process pid. Where too many have not said who they are, the
// oldest of those is cut, first one inside a run or of a crowd: it had its time, and a newcomer may be the
// owner. A process that has its share of them makes room by its own.
func (r *registry) admit(outer net.Conn, pid int) (*connection, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, net.ErrClosed
	}
	c := &connection{outer: outer, pid: pid, gone: make(chan struct{}), crowd: pid != 0 && r.halfOf[pid] > r.process/2}
	if pid != 0 && r.halfOf[pid] >= r.process {
		r.cutOldest(func(c *connection) bool { return c.pid == pid }, r.halfCrowd)
	}
	if r.half.Len()+r.halfInside.Len()+r.halfCrowd.Len() >= r.halfOpen {
		r.cutOldest(func(*connection) bool { return true }, r.halfInside, r.halfCrowd, r.half)
	}
	if c.crowd {
		r.wait(c, r.halfCrowd)
	} else {
		r.wait(c, r.half)
	}
	r.live[c] = struct{}{}
	return c, nil
}

// cutOldest ends the oldest connection that may be cut, of the first queue that has one.
func (r *registry) cutOldest(may func(*connection) bool, queues ...*list.List) {
	for _, queue := range queues {
		for e := queue.Front(); e != nil; e = e.Next() {
			if c := e.Value.(*connection); may(c) {
				r.drop(c)
				c.outer.Close()
				return
			}
		}
	}
}

// wait puts a connection into a queue of half-open ones and out of the one it was in; nil is none.
func (r *registry) wait(c *connection, queue *list.List) {
	if c.half != nil {
		c.queue.Remove(c.half)
		c.half = nil
		if r.halfOf[c.pid]--; r.halfOf[c.pid] == 0 {
			delete(r.halfOf, c.pid)
		}
	}
	if queue != nil {
		c.queue, c.half = queue, queue.PushBack(c)
		r.halfOf[c.pid]++
	}
}

// identified notes who a connection is, or refuses it: a run has its share, all runs together have
// theirs, and so the owner finds a place whatever they do.
func (r *registry) identified(c *connection, p Peer) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	inside, run := p.Verdict.Inside, p.Verdict.Run()
	switch {
	case c.half == nil:
		return net.ErrClosed // cut by admit
	case inside && r.ofRun[run] >= r.run:
		return errRunFull
	case inside && r.within >= r.inside:
		return errInsideFull
	case r.known >= r.all:
		return errFull
	}
	c.peer, c.known = p, true
	r.known++
	if inside {
		r.wait(c, r.halfInside)
		r.within++
		r.ofRun[run]++
	}
	return nil
}

// open makes a connection a peer under the name it chose.
func (r *registry) open(c *connection, name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.half == nil {
		return net.ErrClosed // cut by admit
	}
	if _, used := r.names[name]; used {
		return errNameUsed // who knows another's name could read its inbox
	}
	r.wait(c, nil)
	r.number++
	c.name, c.token = name, secret()
	c.user = fmt.Sprintf("peer-%d-%d", c.peer.PID, r.number)
	r.names[name] = struct{}{}
	r.tokens[c.token] = c
	r.users[c.user] = c.peer
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
	r.drop(c)
	if c.user == "" {
		return
	}
	delete(r.names, c.name)
	delete(r.tokens, c.token)
	delete(r.users, c.user)
}

// drop gives back the place that a connection takes. It may be called again.
func (r *registry) drop(c *connection) {
	delete(r.live, c)
	r.wait(c, nil)
	if !c.known {
		return
	}
	c.known = false
	r.known--
	if !c.peer.Verdict.Inside {
		return
	}
	r.within--
	run := c.peer.Verdict.Run()
	if r.ofRun[run]--; r.ofRun[run] == 0 {
		delete(r.ofRun, run)
	}
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
