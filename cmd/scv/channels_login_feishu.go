package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"

	"golang.org/x/term"

	"scv/daemon/channel"
	"scv/daemon/channel/feishu"
	"scv/daemon/config"
	"scv/daemon/credential"
)

// feishu signs in to either brand.
func (c *channelsLogin) feishu(a *app, set config.Config, folder credential.Folder) (signedIn, error) {
	p := feishuPlatforms(set)
	before, err := c.signedInAs(a, folder)
	if err != nil {
		return signedIn{}, err
	}
	var now feishu.Credentials
	if c.AppID == "" {
		now, err = c.byScan(a, p)
	} else if err = c.oneName(a, folder, c.AppID); err == nil { // before a secret is asked for
		now, err = c.byApp(a, p, before)
	}
	return signedIn{now, "the app " + now.AppID, now.Brand.Title()}, err
}

// platforms is where a sign-in to Feishu or Lark goes: the real platforms, or what stands in for them in a test.
type platforms struct {
	http *http.Client
	of   func(feishu.Brand) feishu.Platform
}

func feishuPlatforms(set config.Config) platforms {
	p := platforms{http: channel.NewHTTP(), of: feishu.Public}
	if origin := set.Feishu.StandIn; origin != "" {
		p.of = func(b feishu.Brand) feishu.Platform {
			standIn, _ := feishu.StandIn(origin, b) // config has checked it
			return standIn
		}
	}
	return p
}

// signedInAs is what the account signs in with now, if anything, and refuses what would take it from there.
func (c *channelsLogin) signedInAs(a *app, folder credential.Folder) (before *feishu.Credentials, err error) {
	saved, err := folder.Load(feishuChannel, c.Account)
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
		return nil, failf(exitFailed, first+"; for a new secret of the same app: "+a.command("channels login "+c.Platform+" --account "+c.Account+" --app-id "+known.AppID),
			"%s is signed in already, as the app %s", c.id(), known.AppID)
	}
	if c.AppID != known.AppID || c.OwnerOpenID != "" && c.OwnerOpenID != known.OwnerOpenID || feishu.Brand(c.Platform) != known.Brand {
		return nil, failf(exitFailed, first, "%s is signed in as the app %s of %s; another app, brand or owner is another account",
			c.id(), known.AppID, known.Brand.Title())
	}
	return &known, nil
}

const signInAgain = "begin again: the code is new each time"

// byScan has the platform make an app for whoever scans a code.
func (c *channelsLogin) byScan(a *app, p platforms) (now feishu.Credentials, err error) {
	s, err := feishu.BeginSignIn(a.ctx, p.http, p.of, feishu.Brand(c.Platform))
	if err != nil {
		return now, a.signInFailed(err)
	}
	a.say("Scan this code with %s on your phone, and agree to the new app:\n", feishu.Brand(c.Platform).Title())
	a.drawCode(s.Link)
	a.say("\nor open this link there: %s", line(s.Link))
	a.note("waiting for you, for %s at most ...", inMinutes(s.Life))
	now, err = s.Await(a.ctx, func(b feishu.Brand) {
		a.note("you use %s; going on there ...", b.Title())
	})
	if err != nil {
		return now, a.signInFailed(err)
	}
	a.say("the app is yours alone and is named after you; to rename it: %s", p.of(now.Brand).Open+"/app/"+now.AppID)
	return now, nil
}

func (a *app) signInFailed(err error) error {
	if a.ctx.Err() != nil {
		return errInterrupted
	}
	return failf(exitFailed, signInAgain, "%w", err)
}

// byApp takes an app that exists. Its secret never stands on a command line, where others of this machine
// could read it.
func (c *channelsLogin) byApp(a *app, p platforms, before *feishu.Credentials) (now feishu.Credentials, err error) {
	now = feishu.Credentials{AppID: c.AppID, Brand: feishu.Brand(c.Platform), OwnerOpenID: c.OwnerOpenID}
	if before != nil {
		now.OwnerOpenID = before.OwnerOpenID
	}
	if !feishu.ValidAppID(now.AppID) {
		return now, failf(exitUsage, "it is in the app's console, under its credentials", "%q is no app id: they begin with cli_", now.AppID)
	}
	if now.AppSecret, err = a.secret("App secret: "); err != nil {
		return now, err
	}
	if err := now.Check(); err != nil {
		return now, failf(exitUsage, "try: scv channels login --help", "%w", err)
	}
	err = feishu.CheckSecret(a.ctx, p.http, p.of(now.Brand), now)
	switch {
	case errors.Is(err, feishu.ErrSecret):
		return now, failf(exitFailed, "copy both again from the app's console; an app of the other brand needs its own word: feishu or lark", "%w", err)
	case err != nil && a.ctx.Err() != nil:
		return now, errInterrupted
	case err != nil:
		return now, failf(exitFailed, "nothing was saved; try again", "%w", err)
	}
	return now, nil
}

// maxSecretLine is the longest line read for a secret, in bytes.
const maxSecretLine = 4 << 10

// secret asks a person without showing what they type, or reads the first line of stdin.
func (a *app) secret(prompt string) (string, error) {
	if keys, ok := a.stdin.(*os.File); ok && a.typed {
		return a.hidden(prompt, int(keys.Fd()))
	}
	read := bufio.NewReader(io.LimitReader(a.stdin, maxSecretLine))
	first, err := awaited(a.ctx, func() (string, error) { return read.ReadString('\n') })
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("cannot read the secret: %w", err)
	}
	if first = strings.TrimSpace(first); first == "" {
		return "", failf(exitUsage, "give it on stdin, or type it when you are asked", "there is no secret")
	}
	return first, nil
}

// hidden reads a line of a terminal that shows nothing meanwhile. Where the context ends first the terminal shows again.
func (a *app) hidden(prompt string, terminal int) (string, error) {
	before, err := term.GetState(terminal)
	if err != nil {
		return "", fmt.Errorf("cannot read the secret: %w", err)
	}
	fmt.Fprint(a.stderr, prompt)
	defer fmt.Fprintln(a.stderr)
	text, err := awaited(a.ctx, func() ([]byte, error) { return term.ReadPassword(terminal) })
	switch {
	case a.ctx.Err() != nil:
		_ = term.Restore(terminal, before) // there is nobody to tell
		return "", errInterrupted
	case err != nil:
		return "", fmt.Errorf("cannot read the secret: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}
