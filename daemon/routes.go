package daemon

import (
	"context"
	"errors"
	"fmt"

	"scv/daemon/caller"
	"scv/daemon/transport"
	"scv/store"
	"scv/wire"
	"scv/wire/bus"
)

// call is one request with what the daemon verified of its sender.
type call struct {
	peer      transport.Peer
	requestID string // repeated by a client that lost its connection; "" for none
	data      []byte
	creates   bool // channel_set may make a local account; a typing mistake in a name must not
}

// action is a row of the table for daemon.control.
type action struct {
	name   string
	door   caller.Door
	handle func(context.Context, call, wire.Command) (wire.DaemonStatus, error)
}

// actions is THE table of daemon.control: the action, who may use it, who handles it.
func (d *Daemon) actions() []action {
	return []action{
		{"status", caller.Anyone, d.handleStatus},
		{"reload", caller.Outside, d.handleReload},
		{"channel_set", caller.Outside, d.handleChannelSet},
		{"channel_logout", caller.Outside, d.handleChannelLogout},
		{"delegations", caller.Anyone, d.handleDelegations},
		{"delegation_kill", caller.OwnRun, d.handleDelegationKill},
		{"restart_when_idle", caller.Anyone, d.handleRestart},
		{"confirm_ask", caller.Anyone, d.handleConfirmAsk},
		{"confirm_status", caller.OwnRun, d.handleConfirmStatus},
	}
}

// route is a row of the table for everything else.
type route struct {
	subject string
	door    caller.Door
	handle  func(context.Context, call) ([]byte, error)
}

// routes is the table of the other subjects. OwnRun lets a delegated run reach what is its own: the
// handler checks whose it is.
func (d *Daemon) routes() []route {
	return []route{
		{wire.SubjectControl, caller.Anyone, d.control}, // each action has its own door
		{wire.SubjectAccountSet, caller.Outside, decoded(d.handleAccountSet)},
		{wire.SubjectConfirmWithdraw, caller.OwnRun, decoded(d.handleConfirmWithdraw)},
		{wire.SubjectConfirmShow, caller.OwnRun, decoded(d.handleConfirmShow)},
		{wire.SubjectConfirmList, caller.Outside, decoded(d.handleConfirmList)},
		{wire.SubjectChatSend, caller.Outside, decoded(d.handleChatSend)},
		{wire.SubjectChatAttach, caller.Outside, decoded(d.handleChatAttach)},
		{wire.SubjectNotify, caller.Anyone, decoded(d.handleNotify)},
		{wire.SubjectStoreSnapshot, caller.Outside, decoded(d.handleStoreSnapshot)},
		{wire.SubjectRestartExplain, caller.Anyone, decoded(d.handleRestartExplain)},
		{wire.SubjectDelegationStart, caller.Anyone, decoded(d.handleDelegationStart)},
		{wire.SubjectDelegationRegister, caller.Anyone, decoded(d.handleDelegationRegister)},
		{wire.SubjectDelegationUpdate, caller.OwnRun, decoded(d.handleDelegationUpdate)},
		{wire.SubjectDelegationWait, caller.OwnRun, decoded(d.handleDelegationWait)},
		{wire.SubjectDelegationExplain, caller.OwnRun, decoded(d.handleDelegationExplain)},
	}
}

// endpoints turns the table into what the bus serves.
func (d *Daemon) endpoints() []bus.Endpoint {
	var all []bus.Endpoint
	for _, r := range d.routes() {
		all = append(all, bus.Endpoint{
			Name: endpointName(r.subject), Subject: r.subject,
			Handle: func(ctx context.Context, request bus.Request) ([]byte, error) {
				return d.serve(ctx, r, request)
			},
		})
	}
	return all
}

// serve finds out who asks, opens the door or not, and turns what a handler says into a reply. Every
// error leaves as a refusal; its internal cause stays in the log.
func (d *Daemon) serve(ctx context.Context, r route, request bus.Request) ([]byte, error) {
	peer, known := d.transport.Peer(request.Peer)
	if !known { // it hung up, as Ctrl-C does: nobody hears a reply, and it is no try at a closed door
		return nil, wire.Refuse(wire.Forbidden, "nobody can say any more who asked: the connection is gone")
	}
	c := call{peer: peer, requestID: request.ID, data: request.Data}
	if !peer.Verdict.May(r.door) {
		return nil, d.forbid(ctx, peer, r.subject)
	}
	reply, err := r.handle(ctx, c)
	return reply, d.refusal(r.subject, err)
}

func (d *Daemon) refusal(subject string, err error) error {
	var refused *wire.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return refused
	case errors.Is(err, store.ErrUnavailable):
		d.log.Error("the store refused", "subject", subject, "err", err)
		return wire.Refuse(wire.Unavailable, "the store cannot be written now (is the disk full, read-only or failing?); "+
			"reading and killing still work")
	}
	d.log.Error("request failed", "subject", subject, "err", err)
	return wire.Refuse(wire.Unavailable, "that did not work inside the daemon; its log says why")
}

// control decodes a DaemonCommand and hands it to its action.
func (d *Daemon) control(ctx context.Context, c call) ([]byte, error) {
	command, err := wire.DecodeCommand(c.data)
	if err != nil {
		return nil, err
	}
	for _, a := range d.actions() {
		if a.name != command.Action() {
			continue
		}
		if !c.peer.Verdict.May(a.door) {
			return nil, d.forbid(ctx, c.peer, a.name)
		}
		status, err := a.handle(ctx, c, command)
		if err != nil {
			return nil, err
		}
		return wire.Encode(status)
	}
	return nil, fmt.Errorf("no action %q in the table", command.Action())
}

// decoded makes a handler of a typed one.
func decoded[Q any, P wire.Message[Q], R any](handle func(context.Context, call, Q) (R, error)) func(context.Context, call) ([]byte, error) {
	return func(ctx context.Context, c call) ([]byte, error) {
		request, err := wire.DecodeRequest[Q, P](c.data)
		if err != nil {
			return nil, err
		}
		reply, err := handle(ctx, c, request)
		if err != nil {
			return nil, err
		}
		return wire.Encode(reply)
	}
}
