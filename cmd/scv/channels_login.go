package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"scv/daemon/config"
	"scv/daemon/credential"
	"scv/wire"
	"scv/wire/bus"
)

type channelsLogin struct {
	Platform    string `arg:"" enum:"wechat,feishu,lark" help:"wechat, feishu or lark; an account of the last two is feishu:NAME."`
	Account     string `default:"default" placeholder:"NAME" help:"Name of the account."`
	AppID       string `name:"app-id" placeholder:"ID" help:"Feishu, Lark: use an app that exists; its secret is asked for, or read from stdin."`
	OwnerOpenID string `name:"owner-open-id" placeholder:"ID" help:"Feishu, Lark: who owns that app, by their open_id within it."`
	LoginURL    string `name:"login-url" placeholder:"URL" help:"WeChat: where signing in begins, if not at the usual place."`
}

func (*channelsLogin) Help() string {
	return "Between feishu and lark the word chooses whose app the code is for. The sign-in itself begins at Feishu's host for " +
		"both, as the platform has it: it tells by the person who scans which brand they use, and goes on there."
}

func (*channelsLogin) example() string { return "scv channels login wechat" }

const (
	feishuChannel = "feishu" // of both brands
	wechatChannel = "wechat"
)

func (c *channelsLogin) channel() string {
	if c.Platform == wechatChannel {
		return wechatChannel
	}
	return feishuChannel
}

func (c *channelsLogin) id() string { return c.channel() + ":" + c.Account }

// credentials are what a sign-in brought.
type credentials interface {
	Format() ([]byte, error)
	Owner() string // "" when nobody knows whose it is
	Bot() string   // the platform's id of the account itself, or ""
}

// signedIn is how a sign-in ended.
type signedIn struct {
	credentials
	as    string // whom it signed in, for people
	title string // of the platform
}

// Run works without a daemon. One that runs uses the account at once.
func (c *channelsLogin) Run(a *app) error {
	if err := c.check(); err != nil {
		return err
	}
	running, err := a.mayLogin()
	if err != nil {
		return err
	}
	home, err := a.home()
	if err != nil {
		return err
	}
	set, err := config.Load(home)
	if err != nil {
		return err
	}
	byPlatform := c.feishu
	if c.channel() == wechatChannel {
		byPlatform = c.wechat
	}
	now, err := byPlatform(a, set, credential.In(home))
	if err != nil {
		return err
	}
	if err := c.oneName(a, credential.In(home), now.Bot()); err != nil {
		return err
	}
	if err := c.save(home, now); err != nil {
		return err
	}
	return c.saved(a, now, running)
}

// check refuses what is no account, and flags of another platform.
func (c *channelsLogin) check() error {
	switch {
	case !config.ValidName(c.Account):
		return failf(exitUsage, "try: "+c.example()+" --account work", "%q cannot be an account: names have 1 to 64 letters, digits, - and _", c.Account)
	case c.channel() == wechatChannel && c.AppID+c.OwnerOpenID != "":
		return failf(exitUsage, "leave them out: WeChat makes a bot for whoever scans the code", "--app-id and --owner-open-id are for feishu and lark")
	case c.channel() != wechatChannel && c.LoginURL != "":
		return failf(exitUsage, "leave it out", "--login-url is for wechat")
	case c.OwnerOpenID != "" && c.AppID == "":
		return failf(exitUsage, "leave it out: the scan tells who you are", "--owner-open-id is for --app-id")
	}
	return nil
}

// mayLogin asks a daemon that runs something that only its owner may ask: who owns an account is asked
// questions there, so an agent must not make one. Without a daemon there is nobody to ask.
func (a *app) mayLogin() (running bool, err error) {
	err = a.call(readLimit, func(ctx context.Context, client *bus.Client) error {
		_, err := client.ConfirmList(ctx, wire.ConfirmListRequest{})
		return err
	})
	if err == nil {
		return true, nil
	}
	if exitCode(err) != exitNoDaemon {
		return false, err
	}
	if a.getenv("SCV_PARENT") != "" {
		return false, failf(exitFailed, ownersOnly, "an agent cannot sign in")
	}
	return false, nil
}

func (c *channelsLogin) save(home string, now signedIn) error {
	if err := os.MkdirAll(home, 0o700); err != nil {
		return fmt.Errorf("cannot make home %q: %w", home, err)
	}
	content, err := now.Format()
	if err != nil {
		return fmt.Errorf("cannot write the credentials: %w", err)
	}
	return credential.In(home).Save(c.channel(), c.Account, content)
}

// saved tells what is true now, and has a daemon look at once.
func (c *channelsLogin) saved(a *app, now signedIn, running bool) error {
	a.say("signed in %s as %s of %s", c.id(), now.as, now.title)
	if now.Owner() == "" {
		a.note("nobody is known to own it, so it answers nobody: %s", a.command("channels set "+c.id()+" --senders anyone"))
	}
	if !running {
		a.say("no daemon is running; it is used at the next start: %s", a.command("run"))
		return nil
	}
	var status wire.DaemonStatus
	err := a.call(changeLimit, func(ctx context.Context, client *bus.Client) (err error) {
		status, err = client.Control(ctx, wire.ReloadCommand{})
		return err
	})
	if err != nil {
		return err
	}
	i := slices.IndexFunc(status.Components, func(h wire.ComponentHealth) bool { return h.ID == c.id() })
	if i < 0 {
		return failf(exitFailed, "if scv status does not show it soon, end the log-out, "+a.command("channels logout "+c.id())+", and sign in again",
			"the daemon has not taken %s up, as where an earlier log-out of it has failed", c.id())
	}
	h := status.Components[i]
	a.printComponents([]wire.ComponentHealth{h})
	if h.RemoteTools == wire.ToolsOwner { // it was signed in before
		return nil
	}
	a.say("write to it in %s; your words reach an agent once you allow it: %s", now.title,
		a.command("channels set "+c.id()+" --remote-tools owner"))
	return nil
}
