package transport

import "time"

// lookAtSocket is how often the socket's file is looked for: two of them, and a file that somebody
// removed is back.
const lookAtSocket = time.Second

// openSocket listens, and goes on to where the file is removed.
func (s *Server) openSocket() error {
	first, err := s.firstSocket()
	if err != nil {
		return err
	}
	s.stop = make(chan struct{})
	s.tasks.Go(func() { s.accept(first) })
	s.tasks.Go(func() { s.keepSocket(first) })
	return nil
}

// keepSocket makes the socket anew where its path leads here no longer, as when a cleaner of old
// files took it, until the server ends. Connections that stand are not touched by it.
func (s *Server) keepSocket(at *socket) {
	tick := time.NewTicker(lookAtSocket)
	defer tick.Stop()
	said := ""
	for {
		select {
		case <-s.stop:
			s.endSocket(at)
			return
		case <-tick.C:
		}
		if !at.lost() {
			said = ""
			continue
		}
		next, err := s.listenAgain(at)
		if err == nil {
			at, said = next, ""
		} else if said != err.Error() { // once, and not every second
			said = err.Error()
			s.log.Error("the socket is gone and cannot be made anew", "path", at.path, "err", err)
		}
	}
}

// listenAgain gives the new socket. The old one goes only then: it may come back by itself, as with
// a disk that is mounted again.
func (s *Server) listenAgain(old *socket) (*socket, error) {
	if s.options.Entitled != nil {
		if err := s.options.Entitled(); err != nil {
			return nil, err
		}
	}
	next, err := listen(old.path)
	if err != nil {
		return nil, err
	}
	s.log.Warn("somebody removed the socket; listening there again", "path", old.path)
	s.tasks.Go(func() { s.accept(next) })
	if err := old.Close(); err != nil {
		s.log.Warn("cannot close the old socket", "err", err)
	}
	return next, nil
}

// firstSocket is the one that was left open for us, or else a new one.
func (s *Server) firstSocket() (*socket, error) {
	if s.options.Listener == nil {
		return listen(s.options.SocketPath)
	}
	at, err := inherited(s.options.Listener, s.options.SocketPath)
	if err != nil {
		s.log.Warn("cannot go on with the socket that was left open; making it anew", "err", err)
		return listen(s.options.SocketPath)
	}
	return at, nil
}

// endSocket closes the socket, or keeps it for the next program.
func (s *Server) endSocket(at *socket) {
	if s.leaving.Load() && !at.lost() {
		kept, err := at.leave()
		if err == nil {
			s.left = kept
			return
		}
		s.log.Warn("cannot keep the socket open", "err", err)
	}
	if err := at.end(); err != nil {
		s.log.Warn("cannot close the socket", "err", err)
	}
}
