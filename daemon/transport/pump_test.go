package transport

import (
	"bytes"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// pumped starts a pump between two pipes, and gives the far ends.
func pumped() (client, server net.Conn, ended chan struct{}) {
	client, outer := net.Pipe()
	inner, server := net.Pipe()
	ended = make(chan struct{})
	go func() {
		pump(outer, inner)
		close(ended)
	}()
	return client, server, ended
}

// TestPumpCutsAtOnce: the server never waits for a client that takes nothing, and is told at the limit.
func TestPumpCutsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, server, ended := pumped()
		begin, wrote := time.Now(), 0
		var err error
		for err == nil && wrote < 2*maxBacklog {
			var n int
			n, err = server.Write(make([]byte, 1<<20))
			wrote += n
		}
		<-ended
		if took := time.Since(begin); took != 0 || err == nil || wrote < maxBacklog || wrote > maxBacklog+1<<20 {
			t.Errorf("cut after %d bytes and %v: %v", wrote, took, err)
		}
	})
}

// TestPumpBearsASilentClientForAWhile: below the limit it is cut when it has taken nothing for 10 s.
func TestPumpBearsASilentClientForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, server, ended := pumped()
		begin := time.Now()
		if _, err := server.Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		<-ended
		if took := time.Since(begin); took != writeTimeout {
			t.Errorf("cut after %v", took)
		}
	})
}

// TestPumpWritesAllBeforeItEnds: what the server said last still reaches a slow client.
func TestPumpWritesAllBeforeItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server, ended := pumped()
		said := bytes.Repeat([]byte("0123456789"), 1<<18)
		go func() {
			server.Write(said)
			server.Close()
		}()
		synctest.Wait()
		time.Sleep(writeTimeout / 2)
		heard, err := io.ReadAll(client)
		if err != nil || !bytes.Equal(heard, said) {
			t.Errorf("heard %d of %d bytes: %v", len(heard), len(said), err)
		}
		<-ended
	})
}
