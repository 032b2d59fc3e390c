package outbox

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"scv/daemon/channel"
	"scv/internal/clock"
	"scv/internal/failpoint"
	"scv/store"
)

// drain sends the account's queue until it is empty, the adapter is gone, or ctx ends. A head that
// cannot be sent holds what is behind it: order is part of the promise. Only a file lets the others pass.
func (b *Outbox) drain(ctx context.Context, account string) {
	delay, vain := firstDelay, 0
	alone := uint64(0) // the message that goes without what is held: with that it was refused
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
		if err = b.deliver(ctx, account, adapter, row, row.Seq == alone); err == nil {
			delay, vain = firstDelay, 0
			continue
		}
		if errors.Is(err, errLoad) {
			alone = row.Seq
			continue
		}
		if vain++; vain >= fileTries && errors.Is(err, errFile) {
			vain = 0
			err = errors.Join(err, b.behind(ctx, row))
		}
		if ctx.Err() != nil {
			return
		}
		b.o.Log.Warn("delivery failed, trying again", "account", account, "in", delay, "err", err)
		if !clock.Pause(ctx, delay) { // a new message does not shorten it: the head is what failed
			return
		}
		delay = min(2*delay, maxDelay)
	}
}

func (b *Outbox) head(account string) (row store.OutboundRow, more bool, err error) {
	err = b.o.Store.View(func(v *store.View) error {
		row, more = v.Head(account)
		return nil
	})
	return row, more, err
}

// errLoad is a refusal of what carries others: it may be one of those that the platform will never take, and that
// must not keep back every later answer.
var errLoad = errors.New("refused with what it carries")

// deliver sends the next part of row, alone or with what is held, and records what became of it.
func (b *Outbox) deliver(ctx context.Context, account string, adapter channel.Adapter, row store.OutboundRow, alone bool) error {
	wanted, err := b.attempt(ctx, account, row)
	if err != nil || !wanted {
		return err
	}
	p, err := b.pack(row, adapter.MaxText(), alone)
	if err != nil {
		return err
	}
	receipt, err := b.send(ctx, adapter, row, &p)
	switch {
	case err == nil:
		if err := b.accepted(ctx, row, p, receipt); err != nil {
			return err
		}
		b.o.Delivered(account, p.out, receipt)
	case errors.Is(err, channel.ErrRefused) && p.file != nil:
		b.o.Log.Warn("a file is not sent", "account", account, "kind", p.file.Kind, "err", err)
		err = b.passed(ctx, row, p)
	case errors.Is(err, channel.ErrRefused) && len(p.carried) > 0:
		b.o.Log.Warn("the platform refused a message that carries others; it goes alone", "account", account)
		return errLoad
	case errors.Is(err, channel.ErrRefused):
		b.o.Log.Warn("the platform refused a message", "account", account, "kind", p.out.Kind)
		err = b.refused(ctx, row, p)
	case p.file != nil:
		return fmt.Errorf("cannot send to %q: %w: %w", account, errFile, err)
	default:
		return fmt.Errorf("cannot send to %q: %w", account, err)
	}
	return err
}

// send hands a parcel over, within its time.
func (b *Outbox) send(ctx context.Context, adapter channel.Adapter, row store.OutboundRow, p *parcel) (channel.Receipt, error) {
	limit := sendTimeout
	if p.file != nil {
		limit = fileTimeout
		if err := b.attach(adapter, row, p); err != nil {
			return channel.Receipt{}, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return send(ctx, adapter, p.out)
}

// parcel is what one send hands over.
type parcel struct {
	out     channel.Outgoing
	part    int                 // its number
	file    *store.Upload       // that it is; nil for a text
	number  int                 // of the file
	rest    string              // of the message's own text: what is not accepted yet
	carried []store.OutboundRow // held replies whose text rides along
}

// pack makes the next part. Those of the text come first, and there is always one of them, though an empty one is
// passed over: so files keep their numbers, whatever rides along.
func (b *Outbox) pack(row store.OutboundRow, limit int, alone bool) (p parcel, err error) {
	o, text, kind := row.Outbound, row.Outbound.Text, channel.Kind(row.Outbound.Kind)
	if carries(o) && !alone {
		mark, marks := b.marking(row.Account)
		err = b.o.Store.View(func(v *store.View) error {
			text, p.carried = carry(v.Held(row.Account, o.Conversation), o, limit, mark)
			return nil
		})
		if marks && len(p.carried) > 0 {
			kind = channel.Reply // whose words are whose is marked already
		}
		if err != nil {
			return p, err
		}
	}
	parts := split(text, limit)
	all := len(parts) + len(o.Files)
	p.part = min(o.NextPart, all-1)
	if text == "" && len(o.Files) > 0 {
		p.part = max(p.part, 1)
	}
	p.out = channel.Outgoing{
		ClientID: fmt.Sprintf("%s-%d", o.ClientID, p.part), Chat: o.Chat, Kind: kind,
		InReplyTo: o.InReplyTo, ReplyHandle: o.ReplyHandle,
		First: o.NextPart == 0 && !alone, Last: p.part == all-1,
	}
	if alone && p.part == 0 { // another text than the one refused under that name
		p.out.ClientID += "a"
	}
	if n := p.part - len(parts); n >= 0 {
		p.file, p.number = &o.Files[n], n
		return p, nil
	}
	p.out.Text = parts[p.part]
	if p.rest = o.Text; p.part > 0 { // only a message not begun carries others
		p.rest = strings.Join(parts[p.part:], "")
	}
	return p, nil
}

// marking is how an account's words are marked, if they must be.
func (b *Outbox) marking(account string) (mark marking, marks bool) {
	if b.o.Marks != nil {
		if mark = b.o.Marks(account); mark != nil {
			return mark, true
		}
	}
	return unmarked, false
}

// send contains a panic of the adapter: one platform's fault must not end the others' deliveries.
func send(ctx context.Context, adapter channel.Adapter, out channel.Outgoing) (r channel.Receipt, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the adapter panicked (%T)", p) // its words may hold the message
		}
	}()
	if err := failpoint.Hit(failpoint.SendBefore); err != nil {
		return r, err
	}
	if r, err = adapter.Send(ctx, out); err != nil {
		return r, err
	}
	return r, failpoint.Hit(failpoint.SendAfter)
}

// attempt asks whether the text is still wanted; a question's may not be. With one that is not go those
// behind it that are not either: scripts that ask and withdraw would otherwise cost a commit each.
func (b *Outbox) attempt(ctx context.Context, account string, row store.OutboundRow) (wanted bool, err error) {
	if row.Outbound.Question == "" {
		return true, nil
	}
	err = b.o.Store.Deliver(ctx, func(tx *store.Delivery) error {
		at, more := row, true
		for dropped := 0; more && at.Outbound.Question != "" && dropped < dropAtOnce; dropped++ {
			asked, err := b.o.Questions.Attempt(tx, at.Outbound.Question)
			if wanted = asked && at.Seq == row.Seq; err != nil || asked {
				return err
			}
			if err := tx.DeleteOutbound(account, at.Seq); err != nil {
				return err
			}
			at, more = tx.Head(account)
		}
		return nil
	})
	return wanted, err
}

// accepted is the one step from a part on its way to a part delivered. Its function, like any handed to
// the store, may be run more than once before it counts.
func (b *Outbox) accepted(ctx context.Context, row store.OutboundRow, p parcel, r channel.Receipt) error {
	err := b.o.Store.Deliver(ctx, func(tx *store.Delivery) error {
		if id := row.Outbound.Question; id != "" && p.out.Last {
			if err := b.o.Questions.Accepted(tx, id, r); err != nil {
				return err
			}
		}
		for _, old := range p.carried {
			if err := tx.DeleteOutbound(old.Account, old.Seq); err != nil {
				return err
			}
		}
		return next(tx, row, p)
	})
	if err == nil && p.out.Last {
		b.forgetFiles(row)
	}
	return err
}

// next moves a message past a part, or ends it.
func next(tx *store.Delivery, row store.OutboundRow, p parcel) error {
	if p.out.Last {
		return tx.DeleteOutbound(row.Account, row.Seq)
	}
	rest := row.Outbound
	rest.NextPart = p.part + 1
	return tx.UpdateOutbound(row.Account, row.Seq, rest)
}

// refused keeps what the platform will not take for a later reply, without the parts it took, or drops it.
func (b *Outbox) refused(ctx context.Context, row store.OutboundRow, p parcel) error {
	err := b.o.Store.Deliver(ctx, func(tx *store.Delivery) error {
		out := row.Outbound
		if out.Question != "" {
			if err := b.o.Questions.Refused(tx, out.Question); err != nil {
				return err
			}
		}
		if out.Transient || out.Question != "" {
			return tx.DeleteOutbound(row.Account, row.Seq)
		}
		out.Held, out.Text, out.NextPart, out.Files = true, p.rest, 0, nil
		return tx.UpdateOutbound(row.Account, row.Seq, out)
	})
	if err == nil {
		b.forgetFiles(row)
	}
	return err
}
