package main

import (
	"scv/daemon/channel/feishu"
	"scv/daemon/channel/wechat"
	"scv/daemon/credential"
)

// oneName refuses a bot that another account signs in as: both would answer everything, or each only half of it.
// Credentials that cannot be read sign nobody in.
func (c *channelsLogin) oneName(a *app, folder credential.Folder, bot string) error {
	names, err := folder.Accounts(c.channel())
	if err != nil {
		return err
	}
	for _, name := range names {
		saved, err := folder.Load(c.channel(), name)
		if err != nil || name == c.Account || bot == "" || c.botOf(saved) != bot {
			continue
		}
		holder := c.channel() + ":" + name
		again := "channels login " + c.Platform + " --account " + name
		if c.AppID != "" {
			again += " --app-id " + c.AppID
		}
		return failf(exitFailed, "to sign that account in again: "+a.command(again)+"; to use it as "+c.id()+", log out there first: "+
			a.command("channels logout "+holder), "nothing was saved: %s is %s already, and a bot has one account", line(bot), holder)
	}
	return nil
}

// botOf is whom credentials sign in, "" for nobody.
func (c *channelsLogin) botOf(saved []byte) string {
	var known credentials
	var err error
	if c.channel() == wechatChannel {
		known, err = wechat.Parse(saved)
	} else {
		known, err = feishu.Parse(saved)
	}
	if err != nil {
		return ""
	}
	return known.Bot()
}
