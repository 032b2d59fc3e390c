package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"scv/daemon/channel"
	"scv/store"
)

// drain sends the account's queue until it is empty, the adapter is gone, or ctx ends. A head that
// cannot be sent holds what is behind it: order is part of the promise.
func (b *Outbox) drain(ctx context.Context, account string) {
	delay := firstDelay
	for ctx.Err() == nil {
		row, more, err := b.head(account)
		if err != nil {
			b.o.Log.Error("cannot read the outbox", "account", account, "err", err)
			return
		}
		adapter, there := b.o.Adapter(account)
		if !more || !there {
			return
		}
		if err = b.deliver(ctx, account, adapter, row); err == nil {
			delay = firstDelay
			continue
		}
		b.o.Log.Warn("delivery failed, trying again", "account", account, "in", delay, "err", err)
		if !pause(ctx, delay) {
			return
		}
		delay = min(2*delay, maxDelay)
	}
}

// pause waits out a back-off. A new message does not shorten it: the head is what failed.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func (b *Outbox) head(account string) (row store.OutboundRow, more bool, err error) {
	err = b.o.Store.View(func(v *store.View) error {
		row, more = v.Head(account)
		return nil
	})
	return row, more, err
}

// deliver sends the next part of row and records what became of it.
func (b *Outbox) deliver(ctx context.Context, account string, adapter channel.Adapter, row store.OutboundRow) error {
	wanted, err := b.attempt(ctx, account, row)
	if err != nil || !wanted {
		return err
	}
	parts := Split(row.Outbound.Text, adapter.MaxText())
	part := min(row.Outbound.NextPart, len(parts)-1)
	out := outgoing(row.Outbound, parts, part)
	sending, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	receipt, err := send(sending, adapter, out)
	switch {
	case err == nil:
		if err := b.accepted(ctx, account, row, out, receipt); err != nil {
			return err
		}
		b.o.Delivered(account, out, receipt)
		return nil
	case errors.Is(err, channel.ErrRefused):
		b.o.Log.Warn("the platform refused a message", "account", account, "kind", out.Kind)
		return b.refused(ctx, account, row)
	}
	return fmt.Errorf("cannot send to %q: %w", account, err)
}

// send contains a panic of the adapter: one platform's fault must not end the others' deliveries.
func send(ctx context.Context, adapter channel.Adapter, out channel.Outgoing) (r channel.Receipt, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the adapter panicked: %v", p)
		}
	}()
	return adapter.Send(ctx, out)
}

func outgoing(o store.Outbound, parts []string, part int) channel.Outgoing {
	return channel.Outgoing{
		ClientID: fmt.Sprintf("%s-%d", o.ClientID, part), Chat: o.Chat, Kind: channel.Kind(o.Kind),
		Text: parts[part], InReplyTo: o.InReplyTo, ReplyHandle: o.ReplyHandle, Last: part == len(parts)-1,
	}
}

// attempt asks whether the text is still wanted; a question's may not be.
func (b *Outbox) attempt(ctx context.Context, account string, row store.OutboundRow) (wanted bool, err error) {
	if row.Outbound.Question == "" {
		return true, nil
	}
	err = b.o.Store.Deliver(ctx, func(tx *store.Delivery) error {
		if wanted, err = b.o.Questions.Attempt(tx, row.Outbound.Question); err != nil || wanted {
			return err
		}
		return tx.DeleteOutbound(account, row.Seq)
	})
	return wanted, err
}

func (b *Outbox) accepted(ctx context.Context, account string, row store.OutboundRow, out channel.Outgoing, r channel.Receipt) error {
	return b.o.Store.Deliver(ctx, func(tx *store.Delivery) error {
		if !out.Last {
			row.Outbound.NextPart++
			return tx.UpdateOutbound(account, row.Seq, row.Outbound)
		}
		if row.Outbound.Question != "" {
			if err := b.o.Questions.Accepted(tx, row.Outbound.Question, r.At); err != nil {
				return err
			}
		}
		return tx.DeleteOutbound(account, row.Seq)
	})
}

func (b *Outbox) refused(ctx context.Context, account string, row store.OutboundRow) error {
	return b.o.Store.Deliver(ctx, func(tx *store.Delivery) error {
		out := row.Outbound
		if out.Question != "" {
			if err := b.o.Questions.Refused(tx, out.Question); err != nil {
				return err
			}
		}
		if out.Transient || out.Question != "" {
			return tx.DeleteOutbound(account, row.Seq)
		}
		out.Held = true
		return tx.UpdateOutbound(account, row.Seq, out)
	})
}
