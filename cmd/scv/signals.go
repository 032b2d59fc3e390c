package main

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// signals are those that ask for an orderly end. The first one ends the context; a later one ends the process
// at once, unless a verb has asked for more patience.
type signals struct {
	ctx     context.Context
	end     context.CancelFunc
	come    chan os.Signal
	settled chan chan struct{} // asks that all which has come is counted
	wanted  []os.Signal
	patient atomic.Pointer[func()] // called at the last one that is only counted
	limit   atomic.Int32           // so many are counted
	seen    atomic.Int32
}

// endings are the signals that ask for an orderly end. A hang-up counts unless the caller ignores it,
// as nohup does.
func endings() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{os.Interrupt, syscall.SIGTERM}
	}
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
}

func listen() *signals {
	s := &signals{come: make(chan os.Signal, 3), settled: make(chan chan struct{}), wanted: endings()}
	s.ctx, s.end = context.WithCancel(context.Background())
	s.limit.Store(1)
	signal.Notify(s.come, s.wanted...)
	go s.countAll()
	return s
}

func (s *signals) countAll() {
	for {
		select {
		case <-s.come:
			s.count()
		case done := <-s.settled:
			for len(s.come) > 0 {
				<-s.come
				s.count()
			}
			close(done)
		}
	}
}

func (s *signals) count() {
	s.end()
	if s.seen.Add(1) < s.limit.Load() {
		return
	}
	signal.Stop(s.come)
	if say := s.patient.Load(); say != nil {
		(*say)()
	}
}

// holdOut counts two signals before a third ends the process, and says so at the second. What it returns undoes
// it.
func (s *signals) holdOut(say func()) (undo func()) {
	s.patient.Store(&say)
	s.limit.Store(2)
	return func() {
		s.limit.Store(1)
		if s.seen.Load() > 0 {
			signal.Stop(s.come)
		}
	}
}

// Pause stops listening: what comes now ends the process.
func (s *signals) Pause() { signal.Stop(s.come) }

// Asked reports whether one has come.
func (s *signals) Asked() bool {
	done := make(chan struct{})
	s.settled <- done
	<-done
	return s.ctx.Err() != nil
}

// Resume listens again.
func (s *signals) Resume() {
	if s.seen.Load() < s.limit.Load() {
		signal.Notify(s.come, s.wanted...)
	}
}
