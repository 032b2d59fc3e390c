package powercut

import (
	"context"

	"scv/internal/clock"
	"scv/store"
	"scv/wire"
)

// perform runs transactions on a store, one after the other. before is called inside of each, when all is
// written and nothing durable yet.
func perform(s *store.Store, account string, parts []transaction, before func()) error {
	for _, x := range parts {
		if err := x.perform(s, account, before); err != nil {
			return err
		}
	}
	return nil
}

func (x transaction) perform(s *store.Store, account string, before func()) error {
	now, ctx := clock.System{}.Now(), context.Background()
	switch x.kind {
	case "deliver":
		return s.Deliver(ctx, func(d *store.Delivery) error {
			return x.each(before, func(c change) error { return deliver(d, account, c, now) })
		})
	case "intend":
		return s.Intend(ctx, func(i *store.Intent) error {
			return x.each(before, func(c change) error { return intend(i, account, c, now) })
		})
	default:
		return s.Observe(ctx, func(o *store.Observation) error {
			return x.each(before, func(c change) error { return observe(o, account, c, now) })
		})
	}
}

func (x transaction) each(before func(), write func(change) error) error {
	for _, c := range x.changes {
		if err := write(c); err != nil {
			return err
		}
	}
	before()
	return nil
}

func intend(i *store.Intent, account string, c change, now clock.Stamp) error {
	switch {
	case c.noun != "account":
		return writeShared(&i.Shared, account, c, now)
	case c.drop:
		return i.DeleteAccount(account + c.name)
	}
	return i.PutAccount(account+c.name, store.Account{
		RemoteTools: wire.ToolsNone, Senders: wire.SendersOwner, Announce: c.text,
	})
}

func observe(o *store.Observation, account string, c change, now clock.Stamp) error {
	switch {
	case c.noun != "run":
		return writeShared(&o.Shared, account, c, now)
	case c.drop:
		return o.DeleteDelegation(account + c.name)
	}
	return o.PutDelegation(account+c.name, store.Delegation{State: store.RunEnded, Cwd: c.text, Started: now})
}

func deliver(d *store.Delivery, account string, c change, now clock.Stamp) error {
	switch c.noun {
	case "claim":
		return deliverClaim(d, account, c, now)
	case "outbound":
		return deliverOutbound(d, account, c, now)
	case "seen":
		return d.MarkSeen(account, c.name)
	case "conversation":
		if c.drop {
			return d.DeleteConversation(account, c.name)
		}
		return d.PutConversation(account, c.name, store.Conversation{Session: c.text, LastUse: now})
	case "line":
		_, _, err := d.AddChatLine(account, store.ChatLine{Kind: wire.ChatReply, ClientID: c.name, Text: c.text, At: now.Wall})
		return err
	case "forget":
		_, err := d.ForgetAccount(account, all)
		return err
	}
	return writeShared(&d.Shared, account, c, now)
}

// Claims and outgoing messages are called by a number that the store gives them; here by a name inside.

func deliverClaim(d *store.Delivery, account string, c change, now clock.Stamp) error {
	claim := store.Claim{MessageID: c.name, Text: c.text, Claimed: now}
	for _, row := range d.Claims(account) {
		switch {
		case row.MessageID != c.name:
		case c.drop:
			return d.DeleteClaim(account, row.Seq)
		default:
			return d.UpdateClaim(account, row.Seq, claim)
		}
	}
	if c.drop {
		return nil
	}
	_, err := d.PutClaim(account, claim)
	return err
}

func deliverOutbound(d *store.Delivery, account string, c change, now clock.Stamp) error {
	message := store.Outbound{Kind: "reply", ClientID: c.name, Text: c.text, Queued: now}
	for _, row := range d.Outbox(account, all) {
		switch {
		case row.ClientID != c.name:
		case c.drop:
			return d.DeleteOutbound(account, row.Seq)
		default:
			return d.UpdateOutbound(account, row.Seq, message)
		}
	}
	if c.drop {
		return nil
	}
	_, err := d.AddOutbound(account, message)
	return err
}
