package transport

import (
	"errors"
	"fmt"
	"net"
	"time"
)

const connectTimeout = 5 * time.Second // from accept to CONNECT

// serve takes a connection over, and says whether it could. identify is asked in the connection's own
// goroutine, so that a slow look at one process keeps nobody waiting.
func (s *Server) serve(outer net.Conn, identify func() Peer) bool {
	c, err := s.registry.admit(outer)
	if err != nil {
		outer.Close()
		return false
	}
	s.tasks.Go(func() {
		defer s.registry.forget(c)
		defer outer.Close()
		if err := s.splice(c, identify); err != nil {
			s.log.Debug("a connection ended", "user", c.user, "err", err)
		}
	})
	return true
}

// splice carries one connection to the embedded server and back, until either side ends.
func (s *Server) splice(c *connection, identify func() Peer) error {
	outer := c.outer
	outer.SetDeadline(time.Now().Add(connectTimeout))
	if err := s.welcome(c, identify()); err != nil {
		sayError(outer, err)
		return err
	}
	inner, err := s.nats.InProcessConn()
	if err != nil {
		return err
	}
	pumped := make(chan struct{})
	go func() {
		defer close(pumped)
		pump(outer, inner)
	}()
	defer func() { <-pumped }()
	defer inner.Close()
	defer outer.Close() // first: the pump may be writing to it
	return s.admitThrough(c, inner)
}

// welcome refuses who may not come in, or not now.
func (s *Server) welcome(c *connection, peer Peer) error {
	if !peer.ours() {
		s.log.Warn("another user tried to connect", "uid", peer.UID, "pid", peer.PID)
		return errUID
	}
	return s.registry.identified(c, peer)
}

func (s *Server) admitThrough(c *connection, inner net.Conn) error {
	g := newGate(c.outer, inner)
	hello, err := g.readConnect()
	if err == nil {
		err = s.registry.open(c, hello.User)
	}
	if err == nil {
		err = c.outer.SetReadDeadline(time.Time{})
	}
	if err == nil {
		err = g.passConnect(hello, c.token)
	}
	if err == nil {
		g.inbox, g.blind = "_INBOX_"+c.name+".", c.peer.Verdict.Inside
		err = g.pass()
	}
	sayError(c.outer, err)
	return err
}

// sayError tells the client why it is cut, where it is to blame.
func sayError(outer net.Conn, err error) {
	var r refusal
	if !errors.As(err, &r) {
		return
	}
	outer.SetWriteDeadline(time.Now().Add(time.Second))
	fmt.Fprintf(outer, "-ERR '%v'\r\n", r) // if it does not listen, it never knows
}
