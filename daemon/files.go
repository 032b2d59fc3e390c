package daemon

import (
	"context"
	"strings"
	"time"

	"scv/daemon/channel"
	"scv/store"
)

// This file is what the daemon itself has to do with the files of chats; daemon/media keeps them.

// carries says whether files can come and go with an account, whether it runs or not: an agent that stays between
// turns must not be started anew because its platform was away for a moment. The local chat carries none: who uses
// it is at this machine, and has the files in reach.
func carries(account string) bool {
	name, _, _ := strings.Cut(account, ":")
	_, can := remoteOf(name)
	return can
}

// carrier is an account's adapter, if it runs and carries files.
func (d *Daemon) carrier(account string) (channel.Carrier, bool) {
	adapter, there := d.accounts.Adapter(account)
	if !there {
		return nil, false
	}
	carrier, can := adapter.(channel.Carrier)
	return carrier, can
}

// clearFiles removes what a crash left half done, before anybody fetches or collects. What cannot be removed now
// is in nobody's way.
func (d *Daemon) clearFiles(context.Context) error {
	wanted := map[string]bool{}
	err := d.store.View(func(v *store.View) error {
		for _, row := range v.Accounts() {
			for _, out := range v.Outbox(row.ID, allOfThem) {
				wanted[row.ID+"/"+out.ClientID] = len(out.Files) > 0
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = d.media.Leftovers(func(account, answer string) bool { return wanted[account+"/"+answer] })
	if err != nil {
		d.log.Error("cannot remove what is left of files", "err", err)
	}
	d.sweepFiles()
	return nil
}

const allOfThem = 1 << 30 // rows: a queue is bounded by what can wait for it

// sweepFiles removes the files of chats that are old.
func (d *Daemon) sweepFiles() {
	keep := time.Duration(d.config.Load().Media.KeepDays) * 24 * time.Hour
	if err := d.media.Sweep(d.clock.Now().Wall.Add(-keep)); err != nil {
		d.log.Error("cannot remove old files of chats", "err", err)
	}
}
