package feishutest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// certificate is valid for the hosts of both brands and for loopback, and is its own root.
func certificate() (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	day := 24 * time.Hour
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a fake Feishu"},
		NotBefore: time.Now().Add(-day), NotAfter: time.Now().Add(day),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"feishu.cn", "*.feishu.cn", "larksuite.com", "*.larksuite.com", "localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	root := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, root, nil
}

// tap is a connection that can become half-open: it stays, and nothing passes either way any more.
type tap struct {
	net.Conn
	p    *Platform
	dead atomic.Bool
	last atomic.Bool // the next write is the last that passes: the end of a handshake
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
	if t.last.Load() {
		t.dead.Store(true)
	}
	return t.Conn.Write(b)
}

func (t *tap) Close() error {
	t.p.mu.Lock()
	delete(t.p.taps, t)
	t.p.mu.Unlock()
	return t.Conn.Close()
}

type tapListener struct {
	net.Listener
	p *Platform
}

func (l tapListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	t := &tap{Conn: c, p: l.p}
	l.p.mu.Lock()
	down := l.p.down
	l.p.taps[t] = true
	l.p.mu.Unlock()
	if down {
		_ = c.Close() // the server finds it closed
	}
	return t, nil
}

// Down cuts every connection, in the middle of whatever it carries, and every new one until Up. What the
// platform knows stays.
func (p *Platform) Down() {
	p.change(func() {
		p.down = true
		for t := range p.taps {
			_ = t.Conn.Close()
		}
		p.sockets = nil
	})
}

// Up ends what Down began.
func (p *Platform) Up() { p.change(func() { p.down = false }) }

type tapKey struct{}

// withTap keeps a connection's tap where its requests find it.
func withTap(ctx context.Context, c net.Conn) context.Context {
	if secured, ok := c.(*tls.Conn); ok {
		c = secured.NetConn()
	}
	return context.WithValue(ctx, tapKey{}, c)
}

// Client makes a client for which the hosts of both brands are here and no other host can be reached.
// Dialed tells what it tried.
func (p *Platform) Client() *http.Client {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(p.root)
	dialer := &net.Dialer{}
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			host, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			p.change(func() { p.dialed = append(p.dialed, host) })
			switch {
			case brandOf(host) != "" && port == "443":
				address = p.secure.Addr().String()
			case address != p.secure.Addr().String() && address != p.plain.Addr().String():
				return nil, fmt.Errorf("the fake platform reaches no host %s", address)
			}
			return dialer.DialContext(ctx, network, address)
		},
	}
	p.change(func() { p.transports = append(p.transports, transport) })
	return &http.Client{Transport: transport}
}

// Dialed are the hosts that the clients of Client tried to reach, in order.
func (p *Platform) Dialed() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.dialed...)
}

// URL is where the platform answers with TLS.
func (p *Platform) URL() string { return "https://" + p.secure.Addr().String() }

// PlainURL is where it answers without.
func (p *Platform) PlainURL() string { return "http://" + p.plain.Addr().String() }

// CertPEM is the root that URL's certificate hangs on.
func (p *Platform) CertPEM() []byte { return append([]byte{}, p.root...) }

// The brands, and the domain of each.
const (
	Feishu = "feishu"
	Lark   = "lark"
)

var domains = map[string]string{Feishu: "feishu.cn", Lark: "larksuite.com"}

// brandOf is the brand whose host it is, "" for none.
func brandOf(host string) string {
	for brand, domain := range domains {
		if host == domain || strings.HasSuffix(host, "."+domain) {
			return brand
		}
	}
	return ""
}
