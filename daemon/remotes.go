package daemon

import (
	"slices"
	"strings"

	"scv/daemon/channel"
	"scv/daemon/channel/feishu"
	"scv/daemon/channel/wechat"
	"scv/daemon/config"
)

// remote is a channel whose accounts are signed in: all that the daemon knows of one platform and not of the
// others.
type remote struct {
	channel string
	parse   func(saved []byte) (credentials, error)
	standIn func(*config.Config) string // origin of a fake platform, "" for the real one
	// mark tells whose words a text is, where the platform shows all of a bot's alike; nil elsewhere. Its adapter does
	// so with what it is given whole.
	mark func(kind channel.Kind, text string) string
	// adapter makes the adapter of one attempt. It fails where the stand-in is none.
	adapter func(d *Daemon, account channel.Account, c credentials, host channel.Host, standIn string) (channel.Adapter, error)
}

// credentials are what an account signs in with.
type credentials interface {
	Identity() string    // names whose state all of the account's is; a new secret changes nothing of it
	Fingerprint() string // tells one set from another
	Bot() string         // the platform's id of the account itself, or ""
	Owner() string       // its id of whoever owns the account, or ""
}

// remotes are all of them.
var remotes = []remote{
	{
		channel: "feishu",
		parse:   func(saved []byte) (credentials, error) { return feishu.Parse(saved) },
		standIn: func(c *config.Config) string { return c.Feishu.StandIn },
		adapter: (*Daemon).makeFeishu,
	},
	{
		channel: "wechat",
		parse:   func(saved []byte) (credentials, error) { return wechat.Parse(saved) },
		standIn: func(c *config.Config) string { return c.WeChat.StandIn },
		adapter: (*Daemon).makeWeChat,
		mark:    wechat.Mark,
	},
}

// remoteOf finds a channel by its name.
func remoteOf(channel string) (remote, bool) {
	i := slices.IndexFunc(remotes, func(r remote) bool { return r.channel == channel })
	if i < 0 {
		return remote{}, false
	}
	return remotes[i], true
}

// marks is how an account's platform needs the words of one message marked that are not all of one kind; nil for not.
func marks(account string) func(kind channel.Kind, text string) string {
	name, _, _ := strings.Cut(account, ":")
	r, _ := remoteOf(name)
	return r.mark
}

func (d *Daemon) makeFeishu(account channel.Account, c credentials, host channel.Host, standIn string) (channel.Adapter, error) {
	saved := c.(feishu.Credentials) // as remotes has parsed them
	platform := feishu.Public(saved.Brand)
	if standIn != "" {
		var err error
		if platform, err = feishu.StandIn(standIn, saved.Brand); err != nil {
			return nil, err
		}
	}
	return feishu.New(feishu.Options{
		Account: account, Credentials: saved, Host: host, Log: d.log, HTTP: d.web, Platform: platform,
	}), nil
}

func (d *Daemon) makeWeChat(account channel.Account, c credentials, host channel.Host, standIn string) (channel.Adapter, error) {
	saved := c.(wechat.Credentials) // as remotes has parsed them
	var platform wechat.Platform
	if standIn != "" {
		var err error
		if platform, err = wechat.StandIn(standIn); err != nil {
			return nil, err
		}
	}
	return wechat.New(wechat.Options{
		Account: account, Credentials: saved, Host: host, Log: d.log, HTTP: d.web, Platform: platform,
	}), nil
}
