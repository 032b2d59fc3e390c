// Package loopback puts hosts of the Internet on this machine, for fake platforms: one handler behind two
// listeners on loopback, one of them with TLS and a certificate for those hosts, and clients that reach the
// hosts there and nobody else anywhere. Its connections can be cut, and can become half-open. World is what else
// every fake platform has. It knows nothing of what is said. Only fakes come in.
package loopback

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Server answers on loopback for some domains and all that is below them.
type Server struct {
	domains       []string
	root          []byte
	secure, plain net.Listener
	server        *http.Server
	ctx           context.Context // ends with the server
	cancel        context.CancelFunc
	work          sync.WaitGroup // listeners, handlers, what Go runs

	mu         sync.Mutex
	closed     bool
	down       bool
	taps       map[*Tap]bool // the open connections
	dialed     []string
	transports []*http.Transport
}

// Start starts a server that Close ends.
func Start(handler http.Handler, domains ...string) (*Server, error) {
	s := &Server{domains: domains, taps: map[*Tap]bool{}}
	pair, root, err := certificate(domains)
	if err != nil {
		return nil, fmt.Errorf("cannot make a certificate for %q: %w", domains, err)
	}
	var listeners []net.Listener
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, errors.Join(fmt.Errorf("cannot listen on loopback: %w", err), closeAll(listeners))
		}
		listeners = append(listeners, tapListener{l, s})
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.root, s.plain = root, listeners[0]
	s.secure = tls.NewListener(listeners[1], &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	s.server = &http.Server{
		Handler: s.counted(handler), ConnContext: withTap, ReadHeaderTimeout: time.Minute,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug), // clients that hang up are no news
	}
	for _, l := range []net.Listener{s.plain, s.secure} {
		s.work.Go(func() { _ = s.server.Serve(l) }) // ends with Close
	}
	return s, nil
}

func closeAll(listeners []net.Listener) (err error) {
	for _, l := range listeners {
		err = errors.Join(err, l.Close())
	}
	return err
}

// counted has Close wait for handlers, which outlive http.Server.Close.
func (s *Server) counted(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		done := make(chan struct{})
		if !s.Go(func() { <-done }) {
			panic(http.ErrAbortHandler)
		}
		defer close(done)
		h.ServeHTTP(w, r)
	})
}

// Go runs work that Close waits for, unless the server has ended. It must end with Context.
func (s *Server) Go(work func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.work.Go(work)
	return true
}

// Close ends every connection and waits for all handlers and for the work of Go. A handler must end with Context,
// or with its request's.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	transports := s.transports
	s.mu.Unlock()
	s.cancel()
	_ = s.server.Close() // it has nothing to lose
	s.work.Wait()
	for _, t := range transports {
		t.CloseIdleConnections()
	}
}

// Context ends with the server.
func (s *Server) Context() context.Context { return s.ctx }

// Client makes a client for which the domains are here, and no other host can be reached. Dialed tells what
// it tried.
func (s *Server) Client() *http.Client {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.root)
	dialer := &net.Dialer{}
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			host, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			s.mu.Lock()
			s.dialed = append(s.dialed, host)
			s.mu.Unlock()
			switch {
			case s.Has(host) && port == "443":
				address = s.secure.Addr().String()
			case address != s.secure.Addr().String() && address != s.plain.Addr().String():
				return nil, fmt.Errorf("the fake platform reaches no host %s", address)
			}
			return dialer.DialContext(ctx, network, address)
		},
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.transports = append(s.transports, transport)
	return &http.Client{Transport: transport}
}

// Has reports whether a host is one of the domains or below one.
func (s *Server) Has(host string) bool {
	for _, domain := range s.domains {
		if host == domain || strings.HasSuffix(host, "."+domain) {
			return true
		}
	}
	return false
}

// Dialed are the hosts that the clients of Client tried to reach, in order.
func (s *Server) Dialed() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.dialed...)
}

// URL is where the server answers with TLS.
func (s *Server) URL() string { return "https://" + s.secure.Addr().String() }

// PlainURL is where it answers without.
func (s *Server) PlainURL() string { return "http://" + s.plain.Addr().String() }

// CertPEM is the root that URL's certificate hangs on.
func (s *Server) CertPEM() []byte { return append([]byte{}, s.root...) }
