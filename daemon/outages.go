package daemon

import (
	"context"
	"time"

	"scv/daemon/channel"
	"scv/daemon/notify"
	"scv/daemon/outage"
	"scv/store"
	"scv/wire"
)

// lookAtOutages is how often the accounts are looked at besides changes of their states.
const lookAtOutages = 5 * time.Second

// outages has owners told of accounts that cannot be reached.
type outages struct {
	d      *Daemon
	health func() []wire.ComponentHealth
	wake   chan struct{}
	watch  outage.Watch // of Run alone
}

func newOutages(d *Daemon) *outages {
	return &outages{
		d: d, wake: make(chan struct{}, 1),
		health: func() []wire.ComponentHealth { return d.accounts.Health() },
	}
}

// Wake makes Run look now.
func (o *outages) Wake() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Run looks at the accounts until ctx ends.
func (o *outages) Run(ctx context.Context) error {
	tick := time.NewTicker(lookAtOutages)
	defer tick.Stop()
	for {
		for _, due := range o.watch.Look(time.Now(), o.health()) {
			done, err := o.settle(ctx, due)
			if err != nil && ctx.Err() == nil {
				o.d.log.Error("cannot tell of an account's outage, trying again", "account", due.Health.ID, "err", err)
			}
			if done {
				o.watch.Settle(due.Health.ID)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-o.wake:
		case <-tick.C:
		}
	}
}

// settle does what is due about one account. Not done means that nobody is there who could be told yet.
func (o *outages) settle(ctx context.Context, due outage.Due) (done bool, err error) {
	id := due.Health.ID
	told := false
	err = o.d.store.View(func(v *store.View) error {
		told = v.OutageTold(id)
		return nil
	})
	if err != nil || told != due.Up {
		return err == nil, err
	}
	if due.Up {
		err = o.d.store.Deliver(ctx, func(tx *store.Delivery) error { return tx.DeleteOutage(id) })
		return err == nil, err
	}
	target, err := notify.Elsewhere(o.d.notifyFacts(), id)
	if err != nil {
		return false, nil // no chat: it is looked for again
	}
	err = o.d.store.Deliver(ctx, func(tx *store.Delivery) error { return o.tell(tx, target, due) })
	if err == nil {
		o.d.wake()
	}
	return err == nil, err
}

// tell queues the notice and marks the outage in one commit: it is told once, whatever happens in between.
func (o *outages) tell(tx *store.Delivery, target notify.Target, due outage.Due) error {
	id := due.Health.ID
	_, err := tx.AddOutbound(target.Account, store.Outbound{
		Kind: string(channel.Notice), Chat: target.Chat, Text: due.Text(helpFor(due.Health)),
		ClientID: "outage-" + newID(), Queued: o.d.clock.Now(),
	})
	if err != nil {
		return err
	}
	return tx.MarkOutage(id)
}

// helpFor is the command that helps an account.
func helpFor(h wire.ComponentHealth) string {
	if h.Channel == "local" {
		return "scv status"
	}
	return channel.Account{Channel: h.Channel, Name: h.Account}.SignInCommand()
}
