package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"scv/wire"
)

// startTimeout is for the daemon's link to its own embedded server, in the same process: only a starved machine
// makes it wait, and a start that ends for that has to be made again.
const startTimeout = 20 * time.Second

const (
	handlerTimeout = 30 * time.Second // of one request
	closeTimeout   = 3 * time.Second  // for the requests under way when the daemon stops
	endTimeout     = time.Second      // for what is left after that, once its context has ended
	workers        = 32               // requests handled at the same time
	reconnectWait  = 50 * time.Millisecond
)

// Endpoint is one subject and who answers on it. Name is for the services API, [A-Za-z0-9_-]+.
type Endpoint struct {
	Name    string
	Subject string
	Handle  Handler
}

// Handler answers one request. A *wire.Error goes to the client as it is; any other error is logged,
// and the client is told only where to look. ctx ends after 30 s, or when the daemon stops.
type Handler func(ctx context.Context, r Request) ([]byte, error)

// Request is one request as it came from the transport.
type Request struct {
	Subject string
	Peer    string // the server-verified user of the connection; see transport.Server.Peer
	ID      string // the client's name for the request, the same when it asks again; or ""
	Data    []byte // at most wire.MaxRequest bytes
}

// Server serves endpoints through the NATS services API, and publishes events.
type Server struct {
	nc     *nats.Conn
	log    *slog.Logger
	life   context.Context // of the handlers
	end    context.CancelFunc
	closed chan struct{}

	slots chan struct{} // one is held for each request under way

	mu       sync.Mutex // orders a new task against the wait for all of them
	stopping bool
	tasks    sync.WaitGroup
}

// Serve connects as the user daemon and answers on the endpoints until Close. conn gives a connection
// to the embedded server, whenever one is needed; pass is the password that goes with it. ctx gives the
// handlers their values only: Close is what ends them.
func Serve(ctx context.Context, conn func() (net.Conn, error), pass, version string, endpoints []Endpoint, log *slog.Logger) (*Server, error) {
	s := &Server{log: log, closed: make(chan struct{}), slots: make(chan struct{}, workers)}
	s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	nc, err := nats.Connect("",
		nats.InProcessServer(provider(conn)),
		nats.UserInfo("daemon", pass),
		nats.Timeout(startTimeout),
		nats.MaxReconnects(-1), // a deaf daemon would be worse than a busy one
		nats.ReconnectWait(reconnectWait),
		nats.ErrorHandler(s.onError),
		nats.ClosedHandler(func(*nats.Conn) { close(s.closed) }),
	)
	if err != nil {
		s.end()
		return nil, fmt.Errorf("cannot connect to the embedded server: %w", err)
	}
	s.nc = nc
	if err := s.addService(version, endpoints); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

type provider func() (net.Conn, error)

func (p provider) InProcessConn() (net.Conn, error) { return p() }

func (s *Server) addService(version string, endpoints []Endpoint) error {
	config := micro.Config{Name: "scv", Version: version, QueueGroupDisabled: true}
	service, err := micro.AddService(s.nc, config)
	if errors.Is(err, micro.ErrConfigValidation) {
		config.Version = "0.0.0" // a build without a release number; DaemonStatus tells the real one
		service, err = micro.AddService(s.nc, config)
	}
	if err != nil {
		return fmt.Errorf("cannot add the service: %w", err)
	}
	for _, e := range endpoints {
		handler := micro.HandlerFunc(func(r micro.Request) { s.dispatch(e, r) })
		if err := service.AddEndpoint(e.Name, handler, micro.WithEndpointSubject(e.Subject)); err != nil {
			return fmt.Errorf("cannot serve %q: %w", e.Subject, err)
		}
	}
	ctx, cancel := context.WithTimeout(s.life, startTimeout)
	defer cancel()
	if err := s.nc.FlushWithContext(ctx); err != nil {
		return fmt.Errorf("cannot subscribe: %w", err)
	}
	return nil
}

func (s *Server) onError(_ *nats.Conn, sub *nats.Subscription, err error) {
	subject := ""
	if sub != nil {
		subject = sub.Subject
	}
	s.log.Warn("bus error", "subject", subject, "err", err)
}

// Publish sends an event to whoever listens; nobody waits for it.
func (s *Server) Publish(subject string, v any) error {
	data, err := wire.Encode(v)
	if err != nil {
		return fmt.Errorf("cannot publish on %q: %w", subject, err)
	}
	if err := s.nc.Publish(subject, data); err != nil {
		return fmt.Errorf("cannot publish on %q: %w", subject, err)
	}
	return nil
}

// Close takes no more requests, waits for those under way, up to 3 s, and lets their replies out.
// A request that comes meanwhile is not answered: its client sees the connection end, and asks the
// next daemon.
func (s *Server) Close() {
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	idle := make(chan struct{})
	go func() {
		s.tasks.Wait()
		close(idle)
	}()
	if !within(closeTimeout, idle) {
		s.log.Warn("requests are still under way after the time to stop", "seconds", closeTimeout.Seconds())
	}
	s.end()
	within(endTimeout, idle)
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	if err := s.nc.FlushWithContext(ctx); err != nil {
		s.log.Warn("last replies may not have left", "err", err)
	}
	s.nc.Close()
	<-s.closed
}

// within waits for done, and says whether it came in time.
func within(d time.Duration, done <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
