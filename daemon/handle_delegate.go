package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"sync"
	"time"

	"scv/daemon/channel/local"
	"scv/daemon/config"
	"scv/daemon/delegation"
	"scv/store"
	"scv/wire"
)

// maxJobs is how many background delegations may run or wait: each holds its task in the store.
const maxJobs = 64

// maxRunSeconds bounds how long a run may take: a week.
const maxRunSeconds = 7 * 24 * 3600

// conversationName is the form of a conversation's name, which becomes part of a key.
var conversationName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
})

// handleDelegationStart takes a task for the background and replies once it is durable. The handle comes
// from the request's id, so that a repeat is the same run.
func (d *Daemon) handleDelegationStart(ctx context.Context, c call, ask wire.DelegationStart) (wire.DelegationTicket, error) {
	if err := d.checkStart(ask); err != nil {
		return wire.DelegationTicket{}, err
	}
	about, err := d.placeOf(c)
	if err != nil {
		return wire.DelegationTicket{}, err
	}
	origin, err := d.reportsTo(c)
	if err != nil {
		return wire.DelegationTicket{}, err
	}
	handle := handleOf(c, ask.Agent)
	claim := origin.claim(ask, handle)
	claim.Claimed = d.clock.Now()
	claim.Job = &store.Job{
		Handle: handle, Agent: ask.Agent, Cwd: ask.Cwd, Tools: about.Tools,
		Parent: about.Parent, Depth: about.Depth, Memory: memoryOf(ask.Conversation),
	}
	if ask.TimeoutSeconds != nil {
		claim.Job.Timeout = time.Duration(min(*ask.TimeoutSeconds, maxRunSeconds)) * time.Second
	}
	err = d.store.Deliver(ctx, func(tx *store.Delivery) error { return admitJob(tx, origin.account, claim, c.who()) })
	if err != nil {
		return wire.DelegationTicket{}, err
	}
	d.wake()
	return wire.DelegationTicket{Handle: handle}, nil
}

func admitJob(tx *store.Delivery, account string, claim store.Claim, who string) error {
	handle, jobs := claim.Job.Handle, 0
	for _, row := range tx.AllClaims() {
		if row.Claim.Job == nil {
			continue
		}
		if row.Claim.Job.Handle == handle {
			return nil // a repeat
		}
		jobs++
	}
	if _, over := tx.Report(handle); over {
		return nil
	}
	if jobs >= maxJobs {
		return wire.Refuse(wire.DelegationError, "%d background delegations run or wait already; wait for one to end, or kill one", maxJobs)
	}
	if _, err := tx.PutClaim(account, claim); err != nil {
		return err
	}
	return tx.AddJournal("delegation_asked", who, handle, nil)
}

func (d *Daemon) checkStart(ask wire.DelegationStart) error {
	if _, known := d.agents.Load().Get(ask.Agent); !known {
		return wire.Refuse(wire.DelegationError, "config.toml has no agent %q; scv agents shows which there are", clip(ask.Agent))
	}
	switch {
	case ask.Prompt == "":
		return wire.Refuse(wire.InvalidRequest, "the task is empty")
	case len(ask.Prompt) > wire.MaxPrompt:
		return wire.Refuse(wire.InvalidRequest, "the task is longer than %d KiB", wire.MaxPrompt>>10)
	case ask.TimeoutSeconds != nil && *ask.TimeoutSeconds == 0:
		return wire.Refuse(wire.InvalidRequest, "timeout_seconds is at least 1")
	}
	if err := config.CheckFolder(ask.Cwd); err != nil {
		return wire.Refuse(wire.DelegationError, "%v", err)
	}
	return checkConversation(ask.Conversation)
}

func checkConversation(name *string) error {
	if name != nil && !conversationName().MatchString(*name) {
		return wire.Refuse(wire.InvalidRequest, "a conversation is named by 1 to 64 of A-Z a-z 0-9 . _ -")
	}
	return nil
}

// memoryOf is the key of a named conversation of delegations, apart from those of chats.
func memoryOf(name *string) string {
	if name == nil {
		return ""
	}
	return "delegate/" + *name
}

// placeOf is where a run stands that the caller asks for. A caller in a run that cannot be named gets none.
func (d *Daemon) placeOf(c call) (store.Delegation, error) {
	v := c.peer.Verdict
	if v.Inside && v.Run() == "" {
		return store.Delegation{}, wire.Refuse(wire.DelegationError,
			"the delegated run that asks cannot be told, so nothing can be started for it (%s)", v.Reason)
	}
	return d.runs.Place(store.Delegation{}, v.Run())
}

// origin is the chat that hears how a background delegation ended.
type origin struct{ account, conversation, chat string }

// reportsTo is the owner's chat that the caller's outermost run answers, or the local one for a caller
// outside.
func (d *Daemon) reportsTo(c call) (origin, error) {
	record, answers, err := d.chatRun(c.peer.Verdict.Handles)
	if err != nil {
		return origin{}, err
	}
	if answers {
		return d.ownersChat(record)
	}
	for _, row := range d.accountRows() {
		if row.ID == defaultLocal {
			return origin{row.ID, row.Account.OwnerID, local.Chat}, nil
		}
	}
	return origin{}, wire.Refuse(wire.DelegationError, "there is no local chat that could hear the report")
}

func (d *Daemon) ownersChat(record store.Delegation) (origin, error) {
	for _, row := range d.accountRows() {
		if row.ID == record.Account && d.originOf(record).OwnersChat {
			return origin{row.ID, record.Conversation, ownerChat(row.ID, row.Account)}, nil
		}
	}
	return origin{}, wire.Refuse(wire.DelegationError, "the chat of this run is not the owner's direct chat, so nothing reports to it")
}

func (o origin) claim(ask wire.DelegationStart, handle string) store.Claim {
	return store.Claim{
		MessageID: handle, Conversation: o.conversation, Chat: o.chat, Sender: o.conversation, Owner: true, Text: ask.Prompt,
	}
}

// handleOf names the run that a request asks for: the same for a repeat.
func handleOf(c call, agent string) string {
	if c.requestID == "" {
		return delegation.NewHandle(agent)
	}
	sum := sha256.Sum256([]byte(c.who() + "\x00" + c.requestID))
	return agent + "-" + hex.EncodeToString(sum[:3])
}

// handleDelegationWait tells how a run stands. It never waits itself: an event says when to ask again.
func (d *Daemon) handleDelegationWait(_ context.Context, c call, ask wire.DelegationHandle) (report wire.DelegationReport, err error) {
	found, parent := false, ""
	err = d.store.View(func(v *store.View) error {
		report, parent, found = reportOf(v, ask.Handle)
		return nil
	})
	switch {
	case err != nil:
		return report, err
	case !found:
		return report, delegation.Unknown(ask.Handle)
	case !d.mayTouch(c, parent):
		return wire.DelegationReport{}, wire.Refuse(wire.Forbidden, "%s was not started by this run", ask.Handle)
	}
	return report, nil
}

// reportOf is what the store knows of a run, and the tag of the run that asked for it.
func reportOf(v *store.View, handle string) (report wire.DelegationReport, parent string, found bool) {
	if r, over := v.Report(handle); over {
		ended := r.Ended.UnixSeconds()
		return wire.DelegationReport{
			Handle: handle, Agent: r.Agent, Outcome: r.Outcome, Text: &r.Text, EndedUnixSeconds: &ended,
		}, r.Parent, true
	}
	report = wire.DelegationReport{Handle: handle, Outcome: wire.RunRunning}
	for _, row := range v.AllClaims() {
		if job := row.Claim.Job; job != nil && job.Handle == handle {
			report.Agent = job.Agent
			return report, job.Parent, true
		}
	}
	record, known := v.Delegation(handle)
	report.Agent = record.Agent
	return report, record.Parent, known
}

// mayTouch reports whether a run that was asked for under this tag is the caller's: everything is the
// owner's, and a run's is what was started below it.
func (d *Daemon) mayTouch(c call, parent string) bool {
	v := c.peer.Verdict
	return !v.Inside || d.runs.Below(parent, v.Run())
}
