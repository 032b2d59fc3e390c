package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"

	"scv/daemon/channel/feishu"
	"scv/daemon/config"
	"scv/daemon/credential"
	"scv/wire"
	"scv/wire/bus"
)

type channelsLogin struct {
	Brand       string `arg:"" enum:"feishu,lark" help:"feishu or lark; an account of either is feishu:NAME."`
	Account     string `default:"default" placeholder:"NAME" help:"Name of the account."`
	AppID       string `name:"app-id" placeholder:"ID" help:"Use an app that exists; its secret is asked for, or read from stdin."`
	OwnerOpenID string `name:"owner-open-id" placeholder:"ID" help:"Who owns that app, by their open_id within it."`
}

func (*channelsLogin) Help() string {
	return "The word chooses whose app the code is for. The sign-in itself begins at Feishu's host for both, as the platform has " +
		"it: it tells by the person who scans which brand they use, and goes on there."
}

func (*channelsLogin) example() string { return "scv channels login feishu" }

// loginChannel is the channel of both brands.
const loginChannel = "feishu"

func (c *channelsLogin) id() string { return loginChannel + ":" + c.Account }

// Run works without a daemon. One that runs uses the account at once.
func (c *channelsLogin) Run(a *app) error {
	if !config.ValidName(c.Account) {
		return failf(exitUsage, "try: "+c.example()+" --account work", "%q cannot be an account: names have 1 to 64 letters, digits, - and _", c.Account)
	}
	if c.OwnerOpenID != "" && c.AppID == "" {
		return failf(exitUsage, "leave it out: the scan tells who you are", "--owner-open-id is for --app-id")
	}
	running, err := a.mayLogin()
	if err != nil {
		return err
	}
	home, err := a.home()
	if err != nil {
		return err
	}
	p, err := a.platforms(home)
	if err != nil {
		return err
	}
	before, err := c.signedInAs(a, credential.In(home))
	if err != nil {
		return err
	}
	var now feishu.Credentials
	if c.AppID != "" {
		now, err = c.byApp(a, p, before)
	} else {
		now, err = c.byScan(a, p)
	}
	if err != nil {
		return err
	}
	if err := save(home, c.Account, now); err != nil {
		return err
	}
	return c.saved(a, now, running)
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

// platforms is where the sign-in goes: the real platforms, or what stands in for them in a test.
type platforms struct {
	http *http.Client
	of   func(feishu.Brand) feishu.Platform
}

func (a *app) platforms(home string) (platforms, error) {
	set, err := config.Load(home)
	if err != nil {
		return platforms{}, err
	}
	p := platforms{http: feishu.NewHTTP(), of: feishu.Public}
	if origin := set.Feishu.StandIn; origin != "" {
		p.of = func(b feishu.Brand) feishu.Platform {
			standIn, _ := feishu.StandIn(origin, b) // config has checked it
			return standIn
		}
	}
	return p, nil
}

// signedInAs is what the account signs in with now, if anything, and refuses what would take it from there.
func (c *channelsLogin) signedInAs(a *app, folder credential.Folder) (before *feishu.Credentials, err error) {
	saved, err := folder.Load(loginChannel, c.Account)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	known, err := feishu.Parse(saved)
	if err != nil {
		return nil, nil // what cannot be read signs nobody in; whose it was the daemon knows
	}
	first := "log out first: " + a.command("channels logout "+c.id())
	if c.AppID == "" {
		return nil, failf(exitFailed, first+"; for a new secret of the same app: "+a.command("channels login "+c.Brand+" --account "+c.Account+" --app-id "+known.AppID),
			"%s is signed in already, as the app %s", c.id(), known.AppID)
	}
	if c.AppID != known.AppID || c.OwnerOpenID != "" && c.OwnerOpenID != known.OwnerOpenID || feishu.Brand(c.Brand) != known.Brand {
		return nil, failf(exitFailed, first, "%s is signed in as the app %s of %s; another app, brand or owner is another account",
			c.id(), known.AppID, known.Brand.Title())
	}
	return &known, nil
}

func save(home, account string, now feishu.Credentials) error {
	if err := os.MkdirAll(home, 0o700); err != nil {
		return fmt.Errorf("cannot make home %q: %w", home, err)
	}
	content, err := now.Format()
	if err != nil {
		return fmt.Errorf("cannot write the credentials: %w", err)
	}
	return credential.In(home).Save(loginChannel, account, content)
}

// saved tells what is true now, and has a daemon look at once.
func (c *channelsLogin) saved(a *app, now feishu.Credentials, running bool) error {
	a.say("signed in %s as the app %s of %s", c.id(), now.AppID, now.Brand.Title())
	if now.OwnerOpenID == "" {
		a.note("nobody is known to own the app, so it answers nobody: %s", a.command("channels set "+c.id()+" --senders anyone"))
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
	for _, h := range status.Components {
		if h.ID == c.id() {
			a.printComponents([]wire.ComponentHealth{h})
		}
	}
	a.say("write to it in %s; your words reach an agent once you allow it: %s", now.Brand.Title(),
		a.command("channels set "+c.id()+" --remote-tools owner"))
	return nil
}
