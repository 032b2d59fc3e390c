package daemon

import (
	"context"
	"time"

	"scv/daemon/channel"
	"scv/daemon/notify"
	"scv/internal/failpoint"
	"scv/store"
)

// How long the outcome of a restart looks for its chat.
const (
	originWait   = 120 * time.Second // for the chat that asked to connect
	announceWait = 15 * time.Minute  // for any owner chat
)

// announce puts outcomes that the owner has not heard of on their way. That and the note that it was done are
// one commit, so that each is told once, whatever happens in between.
func (d *Daemon) announce(ctx context.Context) {
	var untold []store.Restart
	err := d.store.View(func(v *store.View) error {
		untold = v.UntoldRestarts()
		return nil
	})
	if err != nil {
		d.log.Error("cannot read the outcomes of restarts", "err", err)
		return
	}
	for _, r := range untold {
		if err := d.tellOutcome(ctx, r); err != nil {
			d.log.Error("cannot tell how a restart ended, trying again", "plan", r.ID, "err", err)
		}
	}
}

func (d *Daemon) tellOutcome(ctx context.Context, r store.Restart) error {
	waited := d.clock.Now().Since(r.Ended)
	account, chat, found := d.hearer(r, waited)
	if !found && waited < announceWait {
		return nil
	}
	if !found {
		d.log.Warn("no owner chat was there to tell how a restart ended", "plan", r.ID, "outcome", r.Outcome)
	}
	r.Told = true
	if err := failpoint.Hit(failpoint.RestartTold); err != nil {
		return err
	}
	err := d.store.Deliver(ctx, func(tx *store.Delivery) error {
		if found {
			_, err := tx.AddOutbound(account, store.Outbound{
				Kind: string(channel.Notice), Chat: chat, Text: r.Outcome, ClientID: "restart-" + r.ID, Queued: d.clock.Now(),
			})
			if err != nil {
				return err
			}
		}
		return tx.EndRestart(r)
	})
	if err == nil {
		d.wake()
	}
	return err
}

// hearer is the chat that asked once it is connected, and later whichever owner chat is.
func (d *Daemon) hearer(r store.Restart, waited time.Duration) (account, chat string, found bool) {
	facts := d.notifyFacts()
	for _, a := range facts.Accounts {
		if a.ID == r.Account && a.Connected {
			return r.Account, r.Chat, true
		}
	}
	if r.Account != "" && waited < originWait {
		return "", "", false
	}
	target, err := notify.Pick(facts)
	return target.Account, target.Chat, err == nil
}
