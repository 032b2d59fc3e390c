package wechat

import (
	"errors"
	"net/url"
	"strings"
)

var errForeign = errors.New("the platform names a place for a file that is not its own")

// file checks where a file is to be fetched or put, before anybody goes there. Messages name such places, and
// anybody can write one. Its query holds keys, so the error has no word of it.
func (p Platform) file(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errForeign
	}
	host := strings.ToLower(u.Hostname())
	switch {
	case u.User != nil:
	case p.standIn != "":
		if u.Scheme+"://"+u.Host == p.standIn {
			return u, nil
		}
	case u.Scheme == "https" && (u.Port() == "" || u.Port() == "443") && (host == "qq.com" || strings.HasSuffix(host, ".qq.com")):
		return u, nil
	}
	return nil, errForeign
}
