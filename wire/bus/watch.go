package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"

	"scv/wire"
)

// watchBuffer is how many events wait for a slow reader; more are lost. An event is a hint to ask
// again, never the only news of a thing.
const watchBuffer = 256

// WatchConfirm follows one question. The daemon has the subscription when it returns. The channel is
// closed when ctx ends or the connection is gone.
func (c *Client) WatchConfirm(ctx context.Context, id string) (<-chan wire.ConfirmInfo, error) {
	return watch[wire.ConfirmInfo](ctx, c, wire.EventConfirm, id)
}

// WatchChat follows the local chat of an account, as WatchConfirm does a question. To a delegated run
// it is ErrDenied.
func (c *Client) WatchChat(ctx context.Context, account string) (<-chan wire.ChatLine, error) {
	return watch[wire.ChatLine](ctx, c, wire.EventChat, account)
}

func watch[T any, P wire.Message[T]](ctx context.Context, c *Client, kind, id string) (<-chan T, error) {
	if id == "" || strings.ContainsAny(id, ".*> \t\r\n") {
		return nil, wire.Refuse(wire.InvalidRequest, "cannot watch %q: it is no plain name", id)
	}
	messages := make(chan *nats.Msg, watchBuffer)
	sub, err := c.nc.ChanSubscribe(kind+id, messages)
	if err != nil {
		return nil, fmt.Errorf("cannot watch %q: %w", kind+id, plain(err))
	}
	if err := c.established(ctx, sub); err != nil {
		sub.Unsubscribe()
		return nil, fmt.Errorf("cannot watch %q: %w", kind+id, err)
	}
	events := make(chan T, watchBuffer)
	c.tasks.Go(func() {
		defer close(events)
		defer sub.Unsubscribe()
		forward[T, P](ctx, c, messages, events)
	})
	return events, nil
}

// established waits until the server has taken or refused the subscription. It answers in order, so
// a refusal is the last error when the flush is answered.
func (c *Client) established(ctx context.Context, sub *nats.Subscription) error {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	if err := c.nc.FlushWithContext(ctx); err != nil {
		return cause(ctx, err)
	}
	last := c.nc.LastError()
	if errors.Is(last, nats.ErrPermissionViolation) && strings.Contains(last.Error(), strconv.Quote(sub.Subject)) {
		return ErrDenied
	}
	return nil
}

func forward[T any, P wire.Message[T]](ctx context.Context, c *Client, from <-chan *nats.Msg, to chan<- T) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.life.Done():
			return
		case m := <-from:
			v, err := wire.Decode[T, P](m.Data)
			if err != nil {
				continue // of a newer daemon; asking will tell
			}
			select {
			case to <- v:
			case <-ctx.Done():
				return
			case <-c.life.Done():
				return
			}
		}
	}
}

// WatchDelegation follows one run, as WatchConfirm does a question. An event has no text: ask for the report.
func (c *Client) WatchDelegation(ctx context.Context, handle string) (<-chan wire.DelegationReport, error) {
	return watch[wire.DelegationReport](ctx, c, wire.EventRun, handle)
}
