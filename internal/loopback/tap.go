package loopback

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// Tap is a connection that can become half-open: it stays, and nothing passes either way any more.
type Tap struct {
	net.Conn
	s    *Server
	dead atomic.Bool
	last atomic.Bool // the next write is the last that passes
}

// TapOf is the connection that a request came by.
func TapOf(r *http.Request) *Tap {
	t, _ := r.Context().Value(tapKey{}).(*Tap)
	return t
}

// HalfOpen makes it half-open.
func (t *Tap) HalfOpen() { t.dead.Store(true) }

// HalfOpenSoon makes it half-open after the next write, such as the end of a handshake.
func (t *Tap) HalfOpenSoon() { t.last.Store(true) }

// Read implements net.Conn.
func (t *Tap) Read(b []byte) (int, error) {
	for {
		n, err := t.Conn.Read(b)
		if err != nil || !t.dead.Load() {
			return n, err
		}
	}
}

// Write implements net.Conn.
func (t *Tap) Write(b []byte) (int, error) {
	if t.dead.Load() {
		return len(b), nil
	}
	if t.last.Load() {
		t.dead.Store(true)
	}
	return t.Conn.Write(b)
}

// Close implements net.Conn.
func (t *Tap) Close() error {
	t.s.mu.Lock()
	delete(t.s.taps, t)
	t.s.mu.Unlock()
	return t.Conn.Close()
}

type tapListener struct {
	net.Listener
	s *Server
}

func (l tapListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	t := &Tap{Conn: c, s: l.s}
	l.s.mu.Lock()
	down := l.s.down
	l.s.taps[t] = true
	l.s.mu.Unlock()
	if down {
		_ = c.Close() // the server finds it closed
	}
	return t, nil
}

// Down cuts every connection, in the middle of whatever it carries, and every new one until Up.
func (s *Server) Down() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = true
	for t := range s.taps {
		_ = t.Conn.Close()
	}
}

// Up ends what Down began.
func (s *Server) Up() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = false
}

// HalfOpen makes every connection that is open now half-open. New ones work.
func (s *Server) HalfOpen() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for t := range s.taps {
		t.HalfOpen()
	}
}

type tapKey struct{}

// withTap keeps a connection's tap where its requests find it.
func withTap(ctx context.Context, c net.Conn) context.Context {
	if secured, ok := c.(*tls.Conn); ok {
		c = secured.NetConn()
	}
	return context.WithValue(ctx, tapKey{}, c)
}

// certificate is valid for the domains, what is below them, and loopback, and is its own root.
func certificate(domains []string) (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	names := []string{"localhost"}
	for _, domain := range domains {
		names = append(names, domain, "*."+domain)
	}
	day := 24 * time.Hour
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a fake platform"},
		NotBefore: time.Now().Add(-day), NotAfter: time.Now().Add(day),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    names, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	root := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, root, nil
}
