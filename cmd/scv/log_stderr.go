package main

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

const (
	logQueue = 1024                   // lines that wait for a slow reader of stderr
	logGrace = 500 * time.Millisecond // for them to be written when the daemon ends
)

// stderrLog writes lines to stderr without ever holding up who logs: a terminal may be stopped with
// Ctrl-S, a pipe may have nobody who reads it. Lines beyond the queue are counted and left out; the
// file in the home has them.
type stderrLog struct {
	to    io.Writer
	lines chan []byte
	lost  atomic.Int64
	stop  chan struct{} // closed when no more is worth waiting for; who logs later loses nothing but the line
	done  chan struct{}
}

func newStderrLog(to io.Writer) *stderrLog {
	l := &stderrLog{to: to, lines: make(chan []byte, logQueue), stop: make(chan struct{}), done: make(chan struct{})}
	go l.write()
	return l
}

// Write takes one line; it never fails and never waits.
func (l *stderrLog) Write(line []byte) (int, error) {
	select {
	case l.lines <- append([]byte(nil), line...):
	default:
		l.lost.Add(1)
	}
	return len(line), nil
}

func (l *stderrLog) write() {
	defer close(l.done)
	for {
		select {
		case line := <-l.lines:
			l.put(line)
			continue
		default:
		}
		select {
		case line := <-l.lines:
			l.put(line)
		case <-l.stop:
			return
		}
	}
}

func (l *stderrLog) put(line []byte) {
	if n := l.lost.Swap(0); n > 0 {
		_, _ = fmt.Fprintf(l.to, "scv: %d lines of the log are missing here: nobody read them in time\n", n)
	}
	_, _ = l.to.Write(line) // a reader that is gone is no reason to end
}

// close waits a moment for what is queued. A reader that still does not read is left behind with its
// goroutine: the process ends.
func (l *stderrLog) close() {
	close(l.stop)
	select {
	case <-l.done:
	case <-time.After(logGrace):
	}
}
