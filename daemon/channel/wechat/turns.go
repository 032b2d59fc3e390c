package wechat

import (
	"context"
	"net/http/httptrace"
	"sync"
	"time"
)

// Accounts that begin together, as when the daemon starts or the network comes back, make their connections a few at
// a time. All handshakes at once leave holes in the memory, which stay: they are a third of what an idle account costs.

const (
	together = 4               // polls that wait for a connection
	patience = 5 * time.Second // a host that is out of reach must not keep the accounts of another waiting
)

// turns has a place for each of them.
type turns chan struct{}

// connecting are those of all accounts.
var connecting = make(turns, together)

// wait waits for a place, but not for ever. It is free again once the request of the new context has its connection,
// or by done.
func (q turns) wait(ctx context.Context) (placed context.Context, done func()) {
	waiting := time.NewTimer(patience)
	defer waiting.Stop()
	select {
	case q <- struct{}{}:
	case <-waiting.C:
		return ctx, func() {}
	case <-ctx.Done():
		return ctx, func() {}
	}
	done = sync.OnceFunc(func() { <-q })
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { done() }}), done
}
