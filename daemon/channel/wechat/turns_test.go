package wechat

import (
	"context"
	"net/http/httptrace"
	"testing"
	"testing/synctest"
	"time"
)

// Only so many polls wait for a connection at a time. A place is free again with the connection, or with the end of the
// poll; and nobody waits long for one, so that a host that is out of reach holds no other one up.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := make(turns, 1)
		waits := func() (placed context.Context, done func(), took time.Duration) {
			began := time.Now()
			placed, done = q.wait(t.Context())
			return placed, done, time.Since(began)
		}
		placed, first, took := waits()
		if took != 0 {
			t.Errorf("the first waits %v", took)
		}
		if _, done, took := waits(); took != patience {
			t.Errorf("one more waits %v", took)
		} else {
			done() // it has no place to free
		}
		if _, _, took := waits(); took != patience {
			t.Errorf("after that one has ended: %v", took)
		}
		httptrace.ContextClientTrace(placed).GotConn(httptrace.GotConnInfo{})
		_, second, took := waits()
		if took != 0 {
			t.Errorf("once the first has its connection: %v", took)
		}
		first() // its place is another's by now
		if _, _, took := waits(); took != patience {
			t.Errorf("once the first has ended as well: %v", took)
		}
		second()
		if _, _, took := waits(); took != 0 {
			t.Errorf("once the second has ended: %v", took)
		}
		ended, end := context.WithCancel(t.Context())
		end()
		began := time.Now()
		if q.wait(ended); time.Since(began) != 0 {
			t.Errorf("a poll that has ended waits %v", time.Since(began))
		}
	})
}
