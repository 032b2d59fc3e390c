package transport

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// lastLimit is how long a connection may stay that was let in on the last descriptor. A kill takes 8 s.
const lastLimit = 10 * time.Second

// spare is a descriptor that the accept loop holds on to, for a connection that comes when there are no
// others left: what took them all could not be stopped else.
type spare struct{ file *os.File }

func (s *spare) keep() {
	if s.file == nil {
		s.file, _ = os.Open(os.DevNull) // where it fails, it is tried again
	}
}

func (s *spare) give() {
	if s.file != nil {
		s.file.Close()
		s.file = nil
	}
}

// noDescriptors reports whether a connection was not accepted for want of one.
func noDescriptors(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// acceptLast lets one connection in on the last descriptor, and the next when that one is gone.
func (s *Server) acceptLast(at *socket, last *spare) {
	last.give()
	defer last.keep()
	conn, err := at.AcceptUnix()
	if err != nil { // another was faster
		time.Sleep(acceptPause)
		return
	}
	c := s.receive(conn)
	if c == nil {
		return
	}
	late := time.NewTimer(lastLimit)
	defer late.Stop()
	select {
	case <-c.gone:
		return
	case <-late.C:
	case <-s.stop:
	}
	conn.Close()
	<-c.gone
}
