package channel

import (
	"errors"
	"net/netip"
	"net/url"
)

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
