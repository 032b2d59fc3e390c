package main

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// sameAsk is how soon the same signal again is the same wish: timeout(1) sends its own to the process and then to
// the group, and a terminal's reaches us besides what a parent passes on.
const sameAsk = 500 * time.Millisecond

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
	cut     func() // what the one after the first does instead of ending the process, or nil

	// Of the goroutine that counts.
	last os.Signal
	at   time.Time        // when that came
	deaf <-chan time.Time // after it the next one ends the process
}

// endings are the signals that ask for an orderly end. A hang-up counts unless the caller ignores it,
// as nohup does.
func endings() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{os.Interrupt, syscall.SIGTERM}
	}
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
}

// listen begins to. With a cut the process is never ended by a signal, nor by a pipe that nobody reads.
func listen(cut func()) *signals {
	s := &signals{come: make(chan os.Signal, 3), settled: make(chan chan struct{}), wanted: endings(), cut: cut}
	if cut != nil {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	}
	s.ctx, s.end = context.WithCancel(context.Background())
	s.limit.Store(1)
	signal.Notify(s.come, s.wanted...)
	go s.countAll()
	return s
}

func (s *signals) countAll() {
	for {
		select {
		case sig := <-s.come:
			s.count(sig)
		case <-s.deaf:
			signal.Stop(s.come)
		case done := <-s.settled:
			for len(s.come) > 0 {
				s.count(<-s.come)
			}
			close(done)
		}
	}
}

func (s *signals) count(sig os.Signal) {
	if sig == s.last && time.Since(s.at) < sameAsk {
		return
	}
	s.last, s.at = sig, time.Now()
	s.end()
	seen, limit := s.seen.Add(1), s.limit.Load()
	switch {
	case s.cut != nil:
		if seen > 1 {
			s.cut()
		}
	case seen > limit:
		os.Exit(128 + int(sig.(syscall.Signal))) // as it would have ended us by itself
	case seen == limit:
		s.deaf = time.After(sameAsk)
		if say := s.patient.Load(); say != nil {
			(*say)()
		}
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

// Noticed reports whether one has come to this process, also one that is only on its way to the context: so
// whoever asks before the last act never acts after an interrupt.
func (s *signals) Noticed() bool {
	probe := make(chan os.Signal, 1)
	signal.Notify(probe, s.wanted...)
	signal.Stop(probe) // returns once all that has come is handed on
	return s.Asked()
}

// Resume listens again.
func (s *signals) Resume() {
	if s.seen.Load() < s.limit.Load() {
		signal.Notify(s.come, s.wanted...)
	}
}
