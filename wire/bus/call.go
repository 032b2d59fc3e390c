package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"scv/wire"
)

// headerRequestID names a request, so that asking again after a broken connection is one effect.
const headerRequestID = "Scv-Request-Id"

const noResponders = "503" // the status by which the server says that nobody serves a subject

type requestIDKey struct{}

// WithRequestID gives the requests made under ctx a name. A daemon remembers it with the effect.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// Do connects, runs fn, and closes. When the connection broke under it, which a restart of the daemon
// does, it connects and runs fn once more, with the same request id. Where the daemon is just about to go, or
// to come, it does so for a moment, since nothing has happened then. fn makes one request.
func Do(ctx context.Context, d Dialer, fn func(context.Context, *Client) error) error {
	if _, named := ctx.Value(requestIDKey{}).(string); !named {
		ctx = WithRequestID(ctx, randomName())
	}
	err := once(ctx, d, fn)
	if errors.Is(err, ErrLost) {
		err = once(ctx, d, fn)
	}
	moment, cancel := context.WithTimeout(ctx, startingLimit)
	defer cancel()
	for errors.Is(err, ErrStarting) {
		select {
		case <-moment.Done():
			return err
		case <-time.After(startingPause):
		}
		err = once(ctx, d, fn)
	}
	return err
}

// How long Do goes on where a daemon listens and does not serve.
const (
	startingLimit = 3 * time.Second
	startingPause = 20 * time.Millisecond
)

func once(ctx context.Context, d Dialer, fn func(context.Context, *Client) error) error {
	c, err := Connect(ctx, d)
	if err != nil {
		return err
	}
	defer c.Close()
	return fn(ctx, c)
}

// ask sends one request and decodes its reply. A refusal comes back as *wire.Error.
func ask[T any, P wire.Message[T]](ctx context.Context, c *Client, subject string, request any) (T, error) {
	var zero T
	body, err := wire.EncodeRequest(request)
	if err != nil {
		return zero, wire.Refuse(wire.InvalidRequest, "%v", err)
	}
	reply, err := c.request(ctx, subject, body)
	if err != nil {
		return zero, err
	}
	v, err := wire.Decode[T, P](reply)
	if err != nil {
		return zero, fmt.Errorf("cannot read the daemon's reply on %q: %w", subject, err)
	}
	return v, nil
}

func (c *Client) request(ctx context.Context, subject string, body []byte) ([]byte, error) {
	if len(body) > wire.MaxRequest {
		return nil, tooLarge()
	}
	msg := &nats.Msg{Subject: subject, Data: body, Header: nats.Header{}}
	if id, ok := ctx.Value(requestIDKey{}).(string); ok {
		msg.Header.Set(headerRequestID, id)
	}
	ctx, release := c.bounded(ctx, subject)
	defer release()
	reply, err := c.exchange(ctx, msg)
	if err != nil {
		return nil, cause(ctx, err)
	}
	if code := reply.Header.Get(micro.ErrorCodeHeader); code != "" {
		return nil, &wire.Error{Code: wire.Code(code), Text: reply.Header.Get(micro.ErrorHeader)}
	}
	return reply.Data, nil
}

// exchange sends msg and waits for the reply. It does what nats.go's own request does not: a reply
// that came just before the connection ended counts, as a daemon's last ones do.
func (c *Client) exchange(ctx context.Context, msg *nats.Msg) (*nats.Msg, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	msg.Reply = c.nc.NewInbox()
	replies := make(chan *nats.Msg, 1)
	sub, err := c.nc.ChanSubscribe(msg.Reply, replies)
	if err != nil {
		return nil, err
	}
	defer sub.Unsubscribe()
	if err := c.nc.PublishMsg(msg); err != nil {
		return nil, err
	}
	select {
	case reply := <-replies:
		return answered(reply)
	case <-ctx.Done():
	}
	select {
	case reply := <-replies:
		return answered(reply)
	default:
		return nil, ctx.Err()
	}
}

func answered(reply *nats.Msg) (*nats.Msg, error) {
	if len(reply.Data) == 0 && reply.Header.Get("Status") == noResponders {
		return nil, nats.ErrNoResponders
	}
	return reply, nil
}

func tooLarge() *wire.Error {
	return wire.Refuse(wire.InvalidRequest, "the request is larger than %d KiB", wire.MaxRequest>>10)
}

// Control sends a command to the daemon.
func (c *Client) Control(ctx context.Context, command wire.Command) (wire.DaemonStatus, error) {
	return ask[wire.DaemonStatus](ctx, c, wire.SubjectControl, command)
}

// AccountSet changes settings of one account.
func (c *Client) AccountSet(ctx context.Context, r wire.AccountSet) (wire.AccountSettings, error) {
	return ask[wire.AccountSettings](ctx, c, wire.SubjectAccountSet, r)
}

// ConfirmWithdraw ends a pending question.
func (c *Client) ConfirmWithdraw(ctx context.Context, id string) (wire.ConfirmDetail, error) {
	return ask[wire.ConfirmDetail](ctx, c, wire.SubjectConfirmWithdraw, wire.ConfirmID{ID: id})
}

// ConfirmShow tells all of one question, without keeping it alive.
func (c *Client) ConfirmShow(ctx context.Context, id string) (wire.ConfirmDetail, error) {
	return ask[wire.ConfirmDetail](ctx, c, wire.SubjectConfirmShow, wire.ConfirmID{ID: id})
}

// ConfirmList tells of the open questions.
func (c *Client) ConfirmList(ctx context.Context, r wire.ConfirmListRequest) (wire.ConfirmList, error) {
	return ask[wire.ConfirmList](ctx, c, wire.SubjectConfirmList, r)
}

// ChatSend brings one message of the owner to the local chat.
func (c *Client) ChatSend(ctx context.Context, r wire.ChatSend) (wire.ChatSent, error) {
	return ask[wire.ChatSent](ctx, c, wire.SubjectChatSend, r)
}

// ChatAttach tells what the local chat showed. Watch first, then attach: so no line falls between.
func (c *Client) ChatAttach(ctx context.Context, r wire.ChatAttach) (wire.ChatAttached, error) {
	return ask[wire.ChatAttached](ctx, c, wire.SubjectChatAttach, r)
}

// Notify has the daemon show one line to the owner.
func (c *Client) Notify(ctx context.Context, text string) (wire.Notified, error) {
	return ask[wire.Notified](ctx, c, wire.SubjectNotify, wire.Notify{Text: text})
}

// StoreSnapshot has the daemon copy its store to a file, which the caller removes.
func (c *Client) StoreSnapshot(ctx context.Context) (wire.StoreSnapshot, error) {
	return ask[wire.StoreSnapshot](ctx, c, wire.SubjectStoreSnapshot, wire.StoreSnapshotRequest{})
}

// DelegationStart has the daemon run an agent in the background.
func (c *Client) DelegationStart(ctx context.Context, r wire.DelegationStart) (wire.DelegationTicket, error) {
	return ask[wire.DelegationTicket](ctx, c, wire.SubjectDelegationStart, r)
}

// DelegationRegister puts a run that the caller owns on record, first without and then with its process.
func (c *Client) DelegationRegister(ctx context.Context, r wire.DelegationRegister) (wire.DelegationLease, error) {
	return ask[wire.DelegationLease](ctx, c, wire.SubjectDelegationRegister, r)
}

// DelegationUpdate ends the record of a run that the caller owns.
func (c *Client) DelegationUpdate(ctx context.Context, r wire.DelegationUpdate) (wire.DelegationReport, error) {
	return ask[wire.DelegationReport](ctx, c, wire.SubjectDelegationUpdate, r)
}

// DelegationWait tells how a run stands; it does not wait itself. Watch first, then ask.
func (c *Client) DelegationWait(ctx context.Context, handle string) (wire.DelegationReport, error) {
	return ask[wire.DelegationReport](ctx, c, wire.SubjectDelegationWait, wire.DelegationHandle{Handle: handle})
}

// DelegationExplain tells by what each process of a run is known to belong to it.
func (c *Client) DelegationExplain(ctx context.Context, handle string) (wire.DelegationEvidence, error) {
	return ask[wire.DelegationEvidence](ctx, c, wire.SubjectDelegationExplain, wire.DelegationHandle{Handle: handle})
}

// RestartExplain tells what stands in the way of a restart, or how one stands.
func (c *Client) RestartExplain(ctx context.Context, r wire.RestartExplain) (wire.RestartDetail, error) {
	return ask[wire.RestartDetail](ctx, c, wire.SubjectRestartExplain, r)
}
