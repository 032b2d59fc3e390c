package loopback

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"sync/atomic"
	"time"
)

// tap is a connection that can become half-open: it stays, and nothing passes either way any more.
type tap struct {
	net.Conn
	s    *Server
	dead atomic.Bool
}

func (t *tap) Read(b []byte) (int, error) {
	for {
		n, err := t.Conn.Read(b)
		if err != nil || !t.dead.Load() {
			return n, err
		}
	}
}

func (t *tap) Write(b []byte) (int, error) {
	if t.dead.Load() {
		return len(b), nil
	}
	return t.Conn.Write(b)
}

func (t *tap) Close() error {
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
	t := &tap{Conn: c, s: l.s}
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
		t.dead.Store(true)
	}
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
