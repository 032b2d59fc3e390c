package feishu

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"scv/daemon/channel"
)

// Brand is the name under which somebody uses the platform.
type Brand string

const (
	Feishu Brand = "feishu"
	Lark   Brand = "lark"
)

// Title is the brand as its users know it.
func (b Brand) Title() string {
	if b == Lark {
		return "Lark"
	}
	return "Feishu"
}

// Known reports whether there is such a brand.
func (b Brand) Known() bool { return b == Feishu || b == Lark }

// Platform is where a brand lives.
type Platform struct {
	Open     string // origin of the API and of pages
	Accounts string // origin of the sign-in
	Socket   string // where the long connection may lead: scheme://host:port, also any host below that host
}

// Public is where both brands live.
func Public(b Brand) Platform {
	if b == Lark {
		return Platform{"https://open.larksuite.com", "https://accounts.larksuite.com", "wss://larksuite.com:443"}
	}
	return Platform{"https://open.feishu.cn", "https://accounts.feishu.cn", "wss://feishu.cn:443"}
}

// StandIn is a fake platform on this machine, for tests and the demo: origin is an http URL with a loopback
// address and a port. Nothing else may take a platform's place: whoever does gets the app's secret.
func StandIn(origin string, b Brand) (Platform, error) {
	if err := channel.CheckStandIn(origin); err != nil {
		return Platform{}, err
	}
	base := origin + "/" + string(b)
	return Platform{base, base, "ws" + strings.TrimPrefix(origin, "http")}, nil
}

var errSocketURL = errors.New("the platform names a place for the connection that is not its own")

// socketURL checks where the long connection is to lead before anybody dials it, and reads the service's
// number from it. Its query holds one-time keys, so no error has a word of it.
func (p Platform) socketURL(raw string) (service int32, err error) {
	want, err := url.Parse(p.Socket)
	if err != nil {
		return 0, fmt.Errorf("cannot read the platform's socket domain: %w", err)
	}
	u, err := url.Parse(raw)
	if err != nil {
		return 0, errSocketURL // the parser's own words hold the URL
	}
	port := u.Port()
	if port == "" && u.Scheme == "wss" {
		port = "443"
	}
	host, domain := strings.ToLower(u.Hostname()), want.Hostname()
	if u.Scheme != want.Scheme || port != want.Port() || u.User != nil || u.Fragment != "" ||
		host != domain && !strings.HasSuffix(host, "."+domain) {
		return 0, errSocketURL
	}
	n, err := strconv.ParseInt(u.Query().Get("service_id"), 10, 32)
	if err != nil {
		return 0, errors.New("the platform names a connection without a service")
	}
	return int32(n), nil
}
