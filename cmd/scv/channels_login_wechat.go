package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"scv/daemon/channel"
	"scv/daemon/channel/wechat"
	"scv/daemon/config"
	"scv/daemon/credential"
)

// wechat has the platform make a bot for whoever scans a code. Its daemon may be using an earlier token of that
// bot: the new one takes its place, and all that was received and promised stays.
func (c *channelsLogin) wechat(a *app, set config.Config, folder credential.Folder) (signedIn, error) {
	platform, origin, err := c.wechatPlace(set)
	if err != nil {
		return signedIn{}, err
	}
	before, known, err := wechatBefore(folder, c.Account)
	if err != nil {
		return signedIn{}, err
	}
	if known {
		a.note("%s is signed in already, as the bot %s; the same bot goes on with the new token, another one needs a log-out first",
			c.id(), line(before.BotID))
	}
	now, err := a.scanWeChat(platform, origin)
	if err != nil {
		return signedIn{}, err
	}
	if known && before.Identity() != now.Identity() {
		return signedIn{}, failf(exitFailed, "log out first, which forgets its settings: "+a.command("channels logout "+c.id())+"; then sign in again",
			"nothing was saved: %s belongs to the bot %s of %s at %s, and this is the bot %s of %s at %s", c.id(),
			line(before.BotID), line(before.UserID), before.BaseURL, line(now.BotID), line(now.UserID), now.BaseURL)
	}
	return signedIn{now, "the bot " + line(now.BotID), "WeChat"}, nil
}

// wechatPlace is where the sign-in begins: at WeChat, where a flag says, or at what stands in for it in a test.
func (c *channelsLogin) wechatPlace(set config.Config) (platform wechat.Platform, origin string, err error) {
	if c.LoginURL != "" {
		if origin, err = wechat.ReadOrigin(c.LoginURL); err != nil {
			return platform, "", failf(exitUsage, "leave it out for the usual place", "--login-url cannot be used: %w", err)
		}
	}
	if set.WeChat.StandIn != "" {
		platform, err = wechat.StandIn(set.WeChat.StandIn) // config has checked it
	}
	return platform, origin, err
}

// wechatBefore is what the account signs in with now, if that can be read. Whose it was otherwise the daemon
// knows.
func wechatBefore(folder credential.Folder, account string) (before wechat.Credentials, known bool, err error) {
	saved, err := folder.Load(wechatChannel, account)
	if errors.Is(err, fs.ErrNotExist) {
		return before, false, nil
	}
	if err != nil {
		return before, false, err
	}
	before, unreadable := wechat.Parse(saved)
	return before, unreadable == nil, nil
}

// scanWeChat shows codes until one was scanned.
func (a *app) scanWeChat(platform wechat.Platform, origin string) (wechat.Credentials, error) {
	read := bufio.NewReader(io.LimitReader(a.stdin, maxSecretLine))
	now, err := wechat.SignIn{
		HTTP: channel.NewHTTP(), Platform: platform, Origin: origin,
		Show: func(link string, renewed bool) {
			if renewed {
				a.note("that code is no good any more; here is a new one")
			}
			a.say("Scan this code with WeChat on your phone, and agree to the new bot:\n")
			a.drawCode(link)
			a.say("\nor open this link there: %s", line(link))
			a.note("waiting for you, for %s at most ...", inMinutes(wechat.SignInTime))
		},
		Scanned: func() { a.note("scanned; now agree on the phone ...") },
		Number: func(ctx context.Context, wrong bool) (string, error) {
			prompt := "The number that your phone shows: "
			if wrong {
				prompt = "That was not it. " + prompt
			}
			return a.number(ctx, read, prompt)
		},
	}.Run(a.ctx)
	switch {
	case err == nil:
		return now, nil
	case errors.Is(err, wechat.ErrBound) && a.ctx.Err() == nil:
		return now, failf(exitFailed, "see what accounts there are: "+a.command("channels"), "%w", err)
	}
	return now, a.signInFailed(err)
}

// number asks for what the phone shows. The read of a terminal cannot be interrupted: where ctx ends first, its
// reader ends with the process.
func (a *app) number(ctx context.Context, from *bufio.Reader, prompt string) (string, error) {
	fmt.Fprint(a.stderr, prompt)
	type typed struct {
		text string
		err  error
	}
	done := make(chan typed, 1)
	go func() {
		text, err := from.ReadString('\n')
		done <- typed{strings.TrimSpace(text), err}
	}()
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case got := <-done:
		if got.text == "" && got.err != nil {
			return "", errors.New("the phone shows a number, and nobody types it here")
		}
		return got.text, nil
	}
}
