package wechat

import (
	"errors"
	"net/url"
	"strings"

	"scv/daemon/channel"
)

// Where the real platform is.
const (
	publicAPI = "https://ilinkai.weixin.qq.com"
	publicCDN = "https://novac2c.cdn.weixin.qq.com/c2c"
)

// Platform is where the bots live. The zero one is WeChat itself.
type Platform struct {
	standIn string // origin that answers in the place of every host, "" for none
}

// StandIn is a fake platform on this machine, for tests and the demo.
func StandIn(origin string) (Platform, error) {
	if err := channel.CheckStandIn(origin); err != nil {
		return Platform{}, err
	}
	return Platform{origin}, nil
}

// api is where a host's API is reached, by its origin.
func (p Platform) api(origin string) string {
	if p.standIn != "" {
		return p.standIn
	}
	return origin
}

// cdn is where files are, without a slash at the end.
func (p Platform) cdn() string {
	if p.standIn != "" {
		return p.standIn + "/c2c"
	}
	return publicCDN
}

// ReadOrigin reads the origin of an API: https, the usual port, and nothing behind the host.
func ReadOrigin(raw string) (origin string, err error) {
	u, err := url.Parse(strings.TrimSuffix(raw, "/"))
	if err != nil {
		return "", errors.New("it is no URL")
	}
	host := strings.ToLower(u.Hostname())
	origin = "https://" + host
	if host == "" || strings.ToLower(u.String()) != origin && strings.ToLower(u.String()) != origin+":443" {
		return "", errors.New("it must be https:// and a host alone, as " + publicAPI)
	}
	return origin, nil
}

// related reports whether a sign-in that began at one origin may go on at another: that is the same host, or
// both are the platform's, which has a host for each region. Nobody else is told a secret.
func related(from, to string) bool {
	ours := func(origin string) bool { return strings.HasSuffix(origin, ".weixin.qq.com") }
	return from == to || ours(from) && ours(to)
}
