package bus

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// Bounds for a caller whose context has no deadline.
const (
	connectTimeout = 10 * time.Second               // covers the gap of a restart in place
	answerTimeout  = handlerTimeout + 5*time.Second // a handler ends before it
	flushTimeout   = 5 * time.Second
)

// Client is one connection to a daemon. It never reconnects: a long-lived caller waits for Closed and
// connects anew. Its methods may be called at the same time.
type Client struct {
	nc     *nats.Conn
	life   context.Context // ends, with ErrLost, when the connection is gone
	end    context.CancelCauseFunc
	closed chan struct{}
	tasks  sync.WaitGroup // one for each watch

	mu      sync.Mutex
	allowed map[string]allowance // by subject
}

// allowance ends with ErrTooOld once the daemon refused to carry its subject. NATS tells so apart
// from the request, which would otherwise wait for its whole timeout.
type allowance struct {
	ctx  context.Context
	deny context.CancelCauseFunc
}

// Connect makes a connection. It fails with ErrNoDaemon where nothing listens, with ErrNotAnswering
// where ctx ends first, and with ErrLost where the daemon goes away meanwhile.
func Connect(ctx context.Context, d Dialer) (*Client, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	c := &Client{closed: make(chan struct{}), allowed: map[string]allowance{}}
	c.life, c.end = context.WithCancelCause(context.Background())
	link := &link{ctx: ctx, dialer: d}
	name := randomName()
	nc, err := nats.Connect("",
		nats.InProcessServer(link),
		nats.UserInfo(name, ""), // the transport puts the password in
		nats.CustomInboxPrefix("_INBOX_"+name),
		nats.Timeout(connectTimeout),
		nats.NoReconnect(),
		nats.ErrorHandler(c.onError),
		nats.ClosedHandler(func(*nats.Conn) {
			c.end(ErrLost)
			close(c.closed)
		}),
	)
	link.release()
	if err != nil {
		c.end(ErrLost)
		return nil, link.explain(err)
	}
	c.nc = nc
	return c, nil
}

// link is the one connection under a client, closed when ctx ends before the handshake does.
type link struct {
	ctx    context.Context
	dialer Dialer
	stop   func() bool
	err    error // of dialing; nats.go hides it
}

func (l *link) InProcessConn() (net.Conn, error) {
	conn, err := l.dialer.Dial(l.ctx)
	if err != nil {
		l.err = err
		return nil, err
	}
	l.stop = context.AfterFunc(l.ctx, func() { conn.Close() })
	heard := &heardConn{Conn: conn, in: bufio.NewReader(conn)}
	if l.err = heard.refusal(); l.err != nil {
		conn.Close()
		return nil, l.err
	}
	return heard, nil
}

// heardConn is a connection whose first word was read ahead.
type heardConn struct {
	net.Conn
	in *bufio.Reader
}

func (c *heardConn) Read(p []byte) (int, error) { return c.in.Read(p) }

// refusal reads why the daemon turns this connection away where it does so before anything else: of
// that, nats.go only says that something else was expected.
func (c *heardConn) refusal() error {
	first, err := c.in.Peek(len("-ERR"))
	if err != nil {
		return fmt.Errorf("cannot connect: %w", plain(err))
	}
	if string(first) != "-ERR" {
		return nil
	}
	line, err := c.in.ReadSlice('\n')
	words, begins := bytes.CutPrefix(bytes.TrimRight(line, "\r\n"), []byte("-ERR '"))
	words, ends := bytes.CutSuffix(words, []byte("'"))
	if err != nil || !begins || !ends {
		return ErrTurnedAway
	}
	return fmt.Errorf("%w: %s", ErrTurnedAway, words)
}

func (l *link) release() {
	if l.stop != nil {
		l.stop()
	}
}

// tooMany begins what nats.go makes of a refusal for want of a place.
const tooMany = "nats: maximum connections exceeded"

func (l *link) explain(err error) error {
	switch {
	case l.err != nil && l.ctx.Err() == nil:
		return l.err
	case l.ctx.Err() != nil:
		return fmt.Errorf("cannot connect: %w", plain(l.ctx.Err()))
	case strings.HasPrefix(err.Error(), tooMany): // said after the greeting to one of a crowd
		return fmt.Errorf("%w: %s", ErrTurnedAway, strings.TrimPrefix(err.Error(), "nats: "))
	}
	return fmt.Errorf("cannot connect: %w", plain(err))
}

// randomName is the 128-bit name that keeps this client's inbox unguessable.
func randomName() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// Close ends the connection and every watch, and waits for them.
func (c *Client) Close() {
	c.end(ErrLost)
	c.nc.Close()
	<-c.closed
	c.tasks.Wait()
}

// Closed is closed once the connection is gone, whoever ended it.
func (c *Client) Closed() <-chan struct{} { return c.closed }

// deniedPublish is what the server says of a subject that may not be asked. It is heard by few.
var deniedPublish = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)permissions violation for publish to "([^"]+)"`)
})

func (c *Client) onError(_ *nats.Conn, _ *nats.Subscription, err error) {
	if m := deniedPublish().FindStringSubmatch(err.Error()); m != nil {
		c.allowance(m[1]).deny(ErrTooOld)
	}
}

func (c *Client) allowance(subject string) allowance {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, known := c.allowed[subject]
	if !known {
		a.ctx, a.deny = context.WithCancelCause(c.life)
		c.allowed[subject] = a
	}
	return a
}

// bounded is ctx with a deadline, ending also when this connection cannot bring an answer any more.
func (c *Client) bounded(ctx context.Context, subject string) (context.Context, func()) {
	ctx, cancelTimeout := context.WithTimeout(ctx, answerTimeout)
	ctx, cancel := context.WithCancelCause(ctx)
	life := c.allowance(subject).ctx
	stop := context.AfterFunc(life, func() { cancel(context.Cause(life)) })
	return ctx, func() {
		stop()
		cancel(nil)
		cancelTimeout()
	}
}

// cause is why a call under ctx failed with err.
func cause(ctx context.Context, err error) error {
	if ended := context.Cause(ctx); ended != nil && errors.Is(err, ctx.Err()) {
		err = ended
	}
	return plain(err)
}
