package daemon

import (
	"context"
	"strings"

	"scv/daemon/channel"
	"scv/daemon/notify"
	"scv/daemon/transport"
	"scv/store"
	"scv/wire"
)

// endpointName is a subject as the services API names endpoints.
func endpointName(subject string) string { return strings.ReplaceAll(subject, ".", "-") }

// forbid refuses a caller inside a delegated run, writes it down, and tells the owner once per run.
func (d *Daemon) forbid(ctx context.Context, peer transport.Peer, what string) error {
	run := peer.Verdict.Run()
	d.log.Warn("refused a caller inside a delegated run", "what", what, "run", run, "pid", peer.PID, "why", peer.Verdict.Reason)
	who := run
	if who == "" {
		who = "an unknown run"
	}
	if err := d.tellForbidden(ctx, who, peer.Verdict.Handles, what); err != nil {
		d.log.Error("cannot write down a refusal", "what", what, "run", run, "err", err)
	}
	return wire.Refuse(wire.Forbidden, "%s is not for a process inside a delegated run (%s). "+
		"If this is your own terminal, run it where no agent started it.", asTyped(what), peer.Verdict.Reason)
}

// asTyped is a subject or an action as a person knows it: the command that uses it.
func asTyped(what string) string {
	switch what {
	case "reload":
		return "scv reload"
	case "channel_set", wire.SubjectAccountSet:
		return "scv channels set"
	case "channel_logout":
		return "scv channels logout"
	case "delegation_kill":
		return "scv delegations kill"
	case wire.SubjectConfirmList:
		return "scv questions"
	case wire.SubjectConfirmShow, "confirm_status":
		return "scv questions show"
	case wire.SubjectConfirmWithdraw:
		return "the withdrawal of a question"
	case wire.SubjectChatSend, wire.SubjectChatAttach:
		return "scv chat"
	case wire.SubjectStoreSnapshot:
		return "a look into the store"
	case wire.SubjectControl:
		return "an scv command"
	case wire.SubjectNotify:
		return "scv notify"
	case wire.SubjectRestartExplain:
		return "scv restart"
	case wire.SubjectDelegationStart, wire.SubjectDelegationRegister:
		return "scv delegate"
	case wire.SubjectDelegationWait:
		return "scv delegate --wait"
	case wire.SubjectDelegationExplain:
		return "scv delegations --why"
	case wire.SubjectDelegationUpdate:
		return "the end of a run's record"
	}
	return what
}

func (d *Daemon) tellForbidden(ctx context.Context, who string, handles []string, what string) error {
	target, reachable := d.ownerOf(handles)
	first := false
	err := d.store.Deliver(ctx, func(tx *store.Delivery) error {
		first = !d.told.has(who)
		if err := tx.AddJournal("forbidden", who, what, nil); err != nil || !first || !reachable {
			return err
		}
		_, err := tx.AddOutbound(target.Account, store.Outbound{
			Kind: string(channel.Notice), Chat: target.Chat, ClientID: "forbidden-" + who, Queued: d.clock.Now(),
			Text: "A process inside the delegated run " + who + " tried to use " + asTyped(what) +
				", which is not for agents. It was refused. You hear of this once per run.",
		})
		return err
	})
	if err == nil && first {
		d.told.add(who)
		d.wake()
	}
	return err
}

// ownerOf is the owner chat that hears of nested runs: the one they answer, else the usual order.
func (d *Daemon) ownerOf(handles []string) (notify.Target, bool) {
	facts := d.notifyFacts()
	if record, answers, err := d.chatRun(handles); err == nil && answers {
		facts.Origin = d.originOf(record)
	}
	target, err := notify.Pick(facts)
	if err != nil {
		facts.Origin = notify.OriginChat{}
		target, err = notify.Pick(facts)
	}
	return target, err == nil
}
