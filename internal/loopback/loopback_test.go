package loopback

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, h http.HandlerFunc) *Server {
	t.Helper()
	s, err := Start(h, "example.com", "api.example.com")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func get(t *testing.T, c *http.Client, url string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	return string(text), err
}

func TestHosts(t *testing.T) {
	s := start(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Host) })
	c := s.Client()
	for url, want := range map[string]string{
		"https://example.com/": "example.com", "https://a.example.com/": "a.example.com", "https://b.api.example.com/": "b.api.example.com",
		s.PlainURL(): strings.TrimPrefix(s.PlainURL(), "http://"), s.URL(): strings.TrimPrefix(s.URL(), "https://"),
	} {
		if got, err := get(t, c, url); err != nil || got != want {
			t.Errorf("%s: %q, %v", url, got, err)
		}
	}
	for _, url := range []string{"http://example.com/", "https://example.com:8443/", "https://badexample.com/", "https://example.com.evil.example/"} {
		if got, err := get(t, c, url); err == nil {
			t.Errorf("%s: %q", url, got)
		}
	}
	if !slices.Contains(s.Dialed(), "example.com.evil.example") {
		t.Errorf("dialed %q", s.Dialed())
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(s.CertPEM()) {
		t.Fatal("the root cannot be read")
	}
	own := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	defer own.CloseIdleConnections()
	if _, err := get(t, &http.Client{Transport: own}, s.URL()); err != nil {
		t.Errorf("with the root alone: %v", err)
	}
}

func TestDownAndUp(t *testing.T) {
	inside := make(chan bool, 1)
	s := start(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/held" {
			inside <- true
			<-r.Context().Done() // which ends with the connection
		}
	})
	c := s.Client()
	held := make(chan error, 1)
	go func() { _, err := get(t, c, s.PlainURL()+"/held"); held <- err }()
	<-inside
	s.Down()
	if err := <-held; err == nil {
		t.Error("what was under way ends well")
	}
	if _, err := get(t, c, s.PlainURL()); err == nil {
		t.Error("it answers while it is down")
	}
	s.Up()
	if _, err := get(t, c, s.PlainURL()); err != nil {
		t.Errorf("up again: %v", err)
	}
}

func TestHalfOpen(t *testing.T) {
	s := start(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/last" {
			TapOf(r).HalfOpenSoon()
		}
	})
	c := s.Client()
	if _, err := get(t, c, s.PlainURL()+"/last"); err != nil {
		t.Errorf("the last answer: %v", err)
	}
	silent := func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.PlainURL(), http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if res, err := c.Do(r); err == nil {
			_ = res.Body.Close()
			t.Error("something passes a connection that is half-open")
		}
	}
	silent()
	if _, err := get(t, c, s.PlainURL()); err != nil {
		t.Errorf("a new connection: %v", err)
	}
	s.HalfOpen()
	silent()
}

func TestWorkEndsWithTheServer(t *testing.T) {
	s := start(t, func(http.ResponseWriter, *http.Request) {})
	ended := false
	if !s.Go(func() { <-s.Context().Done(); ended = true }) {
		t.Error("it takes no work")
	}
	s.Close()
	if !ended || s.Go(func() {}) {
		t.Errorf("ended %v, or it takes more", ended)
	}
}
