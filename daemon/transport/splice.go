package transport

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"time"
)

const connectTimeout = 5 * time.Second // from accept to CONNECT

// serve takes a connection over. identify is asked in the connection's own goroutine, so that a slow look
// at one process keeps nobody waiting.
func (s *Server) serve(c *connection, identify func() Peer) {
	s.tasks.Go(func() {
		defer close(c.gone)
		defer s.registry.forget(c)
		defer c.outer.Close()
		if err := s.splice(c, identify); err != nil {
			s.log.Debug("a connection ended", "user", c.user, "err", err)
		}
	})
}

// splice carries one connection to the embedded server and back, until either side ends.
func (s *Server) splice(c *connection, identify func() Peer) error {
	outer := c.outer
	outer.SetDeadline(time.Now().Add(connectTimeout))
	in := bufio.NewReaderSize(outer, maxLine)
	if c.crowd {
		if err := s.awaitWord(outer, in); err != nil {
			return err
		}
	}
	if err := s.welcome(c, identify()); err != nil {
		sayError(outer, err)
		return err
	}
	inner, err := s.innerConn(c.crowd)
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
	return s.admitThrough(c, in, inner)
}

// awaitWord greets one of a crowd in the embedded server's place, which need not hear of a connection
// that says nothing, and waits for its first word.
func (s *Server) awaitWord(outer net.Conn, in *bufio.Reader) error {
	greeting, err := s.greeting()
	if err == nil {
		_, err = outer.Write(greeting)
	}
	if err == nil {
		_, err = in.Peek(1)
	}
	return err
}

// readGreeting is what the embedded server says first.
func (s *Server) readGreeting() ([]byte, error) {
	inner, err := s.nats.InProcessConn()
	if err != nil {
		return nil, err
	}
	defer inner.Close()
	return bufio.NewReader(inner).ReadBytes('\n')
}

// innerConn is a connection to the embedded server, without its greeting where that was said before.
func (s *Server) innerConn(greeted bool) (net.Conn, error) {
	inner, err := s.nats.InProcessConn()
	if err != nil || !greeted {
		return inner, err
	}
	in := bufio.NewReader(inner)
	if _, err := in.ReadSlice('\n'); err != nil {
		return nil, errors.Join(err, inner.Close())
	}
	return readAhead{inner, in}, nil
}

// readAhead is a connection of which some was read.
type readAhead struct {
	net.Conn
	in *bufio.Reader
}

func (c readAhead) Read(p []byte) (int, error) { return c.in.Read(p) }

// welcome refuses who may not come in, or not now.
func (s *Server) welcome(c *connection, peer Peer) error {
	if !peer.ours() {
		s.log.Warn("another user tried to connect", "uid", peer.UID, "pid", peer.PID)
		return errUID
	}
	return s.registry.identified(c, peer)
}

func (s *Server) admitThrough(c *connection, in *bufio.Reader, inner net.Conn) error {
	g := newGate(in, inner)
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
