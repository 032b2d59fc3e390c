package channel

import (
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

// quiet is how long a connection of many requests may be silent before it is asked for a sign of life, and how
// long that may take. Without, one that died silently, as in a laptop's sleep, would take every request until
// TCP gives up, a quarter of an hour later.
const quiet = 15 * time.Second

// buffer is what a connection keeps for what comes and for what goes, in bytes. Most of them wait for a platform that
// has nothing to say; what is larger goes past it.
const buffer = 1 << 10

// NewHTTP makes the client by which all adapters reach their platforms: few connections, none of them idle for
// long.
func NewHTTP() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone() // with the proxy that the environment names
	transport.MaxIdleConnsPerHost, transport.IdleConnTimeout = 4, 30*time.Second
	transport.ReadBufferSize, transport.WriteBufferSize = buffer, buffer
	transport.HTTP2 = &http.HTTP2Config{SendPingTimeout: quiet, PingTimeout: quiet}
	return &http.Client{Transport: transport}
}

// WithoutRedirects is a client with the connections of base that follows no redirect: a secret must not go where an
// answer says.
func WithoutRedirects(base *http.Client) http.Client {
	return http.Client{Transport: base.Transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

// WithoutURL is an error of an HTTP client without its URL, which may hold a key.
func WithoutURL(err error) error {
	if shown, ok := errors.AsType[*url.Error](err); ok {
		return shown.Err
	}
	return err
}

// CheckStandIn refuses an origin that cannot stand in for a platform, in tests and the demo: it is an http URL
// with a loopback address and a port. Nothing else may take a platform's place: whoever does is told secrets.
func CheckStandIn(origin string) error {
	u, err := url.Parse(origin)
	if err != nil {
		return errors.New("it is no URL")
	}
	at, err := netip.ParseAddrPort(u.Host)
	if err != nil || !at.Addr().IsLoopback() || u.Scheme != "http" || origin != "http://"+u.Host {
		return errors.New("it must be http:// with a loopback address and a port, as http://127.0.0.1:8080")
	}
	return nil
}
