package transport

import (
	"net"
	"sync"
	"time"
)

const (
	// maxBacklog is what may wait for a client that reads too slowly, in bytes: two replies of
	// wire.MaxReply.
	maxBacklog   = 16 << 20
	writeTimeout = 10 * time.Second // for a client to take one piece
	pieceSize    = 64 << 10
)

// backlog is what the server said and the client has not taken yet.
type backlog struct {
	mu    sync.Mutex
	more  *sync.Cond
	bytes []byte
	ended bool
}

// pump carries what the server says to the client, until either ends; then both are closed. It reads
// on while the client is slow: nats-server writes to a client in the goroutine of whoever sends to it,
// which is the daemon's, and a pipe has no buffer. So a client that takes too little is cut.
func pump(outer, inner net.Conn) {
	b := &backlog{}
	b.more = sync.NewCond(&b.mu)
	written := make(chan struct{})
	go func() {
		defer close(written)
		b.drain(outer)
		outer.Close()
		inner.Close()
	}()
	if !b.fill(inner) {
		outer.Close()
		inner.Close()
	}
	b.end()
	<-written
}

// fill reads until the server ends; it is false when the backlog has no room for more.
func (b *backlog) fill(inner net.Conn) bool {
	piece := make([]byte, pieceSize)
	for {
		n, err := inner.Read(piece)
		if !b.add(piece[:n]) {
			return false
		}
		if err != nil {
			return true
		}
	}
}

func (b *backlog) end() {
	b.mu.Lock()
	b.ended = true
	b.mu.Unlock()
	b.more.Signal()
}

// add keeps a piece, and is false where there is no room for it: then the backlog is dropped.
func (b *backlog) add(piece []byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.bytes)+len(piece) > maxBacklog {
		b.bytes = nil
		return false
	}
	b.bytes = append(b.bytes, piece...)
	b.more.Signal()
	return true
}

// take waits for something to write; nil means that nothing comes any more.
func (b *backlog) take() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.bytes) == 0 && !b.ended {
		b.more.Wait()
	}
	all := b.bytes
	b.bytes = nil
	return all
}

func (b *backlog) drain(outer net.Conn) {
	for {
		rest := b.take()
		if len(rest) == 0 {
			return
		}
		for len(rest) > 0 {
			outer.SetWriteDeadline(time.Now().Add(writeTimeout))
			n, err := outer.Write(rest[:min(len(rest), pieceSize)])
			if err != nil {
				return
			}
			rest = rest[n:]
		}
	}
}
