package daemon

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"math/big"
	"strings"

	"scv/daemon/channel"
	"scv/daemon/confirm"
	"scv/daemon/notify"
	"scv/internal/clock"
	"scv/store"
	"scv/wire"
)

// handleConfirmAsk stores the question and its text in one transaction and replies; the outbox has it
// delivered. A repeat under the same request id is the same question.
func (d *Daemon) handleConfirmAsk(ctx context.Context, c call, command wire.Command) (wire.DaemonStatus, error) {
	request := command.(wire.ConfirmAskCommand)
	if request.Parent != nil {
		if _, err := notify.Parse(*request.Parent); err != nil {
			return wire.DaemonStatus{}, err
		}
	}
	target, err := d.whomToTell(c)
	if err != nil {
		return wire.DaemonStatus{}, err
	}
	ask := confirm.Ask{
		Account: target.Account, Chat: target.Chat, Owner: target.Owner, Asker: c.peer.Verdict.Run(),
		Question: request.Question, TimeoutSeconds: request.TimeoutSeconds,
	}
	now, id := d.clock.Now(), questionID(c)
	var question confirm.Question
	err = d.store.Deliver(ctx, func(tx *store.Delivery) error {
		if known, repeated := tx.Confirm(id); repeated {
			question = confirm.Question(known)
			return nil
		}
		question, err = d.ask(tx, ask, now, id)
		return err
	})
	if err != nil {
		return wire.DaemonStatus{}, err
	}
	if question.Asker != ask.Asker || question.Question != confirm.Shown(strings.TrimSpace(request.Question)) {
		return wire.DaemonStatus{}, wire.Refuse(wire.ConfirmError, "this request id was used for another question")
	}
	if !question.State.Final() {
		d.questions.asked(id, now)
	}
	d.wake()
	return d.statusWith(question)
}

// ask admits and stores a question with its text on the way.
func (d *Daemon) ask(tx *store.Delivery, ask confirm.Ask, now clock.Stamp, id string) (confirm.Question, error) {
	var open []confirm.Question
	for _, c := range tx.OpenConfirms() {
		open = append(open, confirm.Question(c))
	}
	if err := confirm.Admit(open, ask); err != nil {
		return confirm.Question{}, err
	}
	used := d.questions.codesInUse(tx, ask.Account, ask.Chat)
	inUse := func(code string) bool { return used[code] }
	question, err := confirm.New(ask, now, id, inUse, pick)
	if err != nil {
		return question, err
	}
	used[question.Code] = true // also if the transaction fails: that costs the code
	if err := tx.PutConfirm(store.Confirm(question)); err != nil {
		return question, err
	}
	if err := tx.AddJournal("confirm_asked", cmp.Or(question.Asker, "owner"), id+" "+ask.Account, nil); err != nil {
		return question, err
	}
	_, err = tx.AddOutbound(ask.Account, store.Outbound{
		Kind: string(channel.Question), Chat: ask.Chat, Text: question.Message(), ClientID: "q" + id,
		Question: id, Queued: now,
	})
	return question, err
}

// whomToTell is the chat that hears a question or a notice.
func (d *Daemon) whomToTell(c call) (notify.Target, error) {
	facts := d.notifyFacts()
	v := c.peer.Verdict
	if v.Inside && v.Run() == "" {
		return notify.Target{}, wire.Refuse(wire.ConfirmError,
			"the delegated run that asks cannot be told, so there is no chat to ask in (%s)", v.Reason)
	}
	// The caller's own claim is not needed: its ancestry says more than SCV_PARENT could.
	record, answers, err := d.chatRun(v.Handles)
	if err != nil {
		return notify.Target{}, err
	}
	if answers {
		facts.Origin = d.originOf(record)
	}
	return notify.Pick(facts)
}

// handleConfirmStatus judges the question at this moment and notes that its asker still waits.
func (d *Daemon) handleConfirmStatus(ctx context.Context, c call, command wire.Command) (wire.DaemonStatus, error) {
	id := command.(wire.ConfirmStatusCommand).ID
	question, err := d.ownQuestion(ctx, c, id, "confirm_status")
	if err != nil || question.State.Final() {
		return d.statusOr(question, err)
	}
	now := d.clock.Now()
	last := d.questions.lastAsked(id, question.LastPolled)
	ended, _ := question.Tick(now, last)
	_, worthACommit := question.Poll(now)
	if ended.State.Final() || worthACommit {
		err = d.questions.change(ctx, id, func(q confirm.Question) (confirm.Question, string) {
			if q, line := q.Tick(now, last); q.State.Final() {
				return q, line
			}
			q, _ = q.Poll(now)
			return q, ""
		})
		if err != nil {
			return wire.DaemonStatus{}, err
		}
		if question, err = d.ownQuestion(ctx, c, id, "confirm_status"); question.State.Final() {
			d.wake() // for its line and its event; that somebody still asks is nobody's news
		}
	}
	if err == nil && !question.State.Final() {
		d.questions.asked(id, now)
	}
	return d.statusOr(question, err)
}

// handleConfirmWithdraw ends a question because its asker no longer waits.
func (d *Daemon) handleConfirmWithdraw(ctx context.Context, c call, ask wire.ConfirmID) (wire.ConfirmDetail, error) {
	if _, err := d.ownQuestion(ctx, c, ask.ID, "withdrawing a question"); err != nil {
		return wire.ConfirmDetail{}, err
	}
	now := d.clock.Now()
	err := d.questions.change(ctx, ask.ID, func(q confirm.Question) (confirm.Question, string) { return q.Withdraw(now) })
	if err != nil {
		return wire.ConfirmDetail{}, err
	}
	d.wake()
	question, err := d.ownQuestion(ctx, c, ask.ID, "withdrawing a question")
	return confirm.Detail(question), err
}

func (d *Daemon) handleConfirmShow(ctx context.Context, c call, ask wire.ConfirmID) (wire.ConfirmDetail, error) {
	question, err := d.ownQuestion(ctx, c, ask.ID, "showing a question")
	return confirm.Detail(question), err
}

func (d *Daemon) handleConfirmList(_ context.Context, _ call, ask wire.ConfirmListRequest) (wire.ConfirmList, error) {
	list := wire.ConfirmList{Confirms: []wire.ConfirmDetail{}}
	err := d.store.View(func(v *store.View) error {
		all := v.OpenConfirms
		if ask.All {
			all = v.Confirms
		}
		for _, c := range all() {
			list.Confirms = append(list.Confirms, confirm.Detail(confirm.Question(c)))
		}
		return nil
	})
	return list, err
}

// ownQuestion reads a question that the caller may know of.
func (d *Daemon) ownQuestion(ctx context.Context, c call, id, what string) (confirm.Question, error) {
	var question confirm.Question
	var known bool
	err := d.store.View(func(v *store.View) error {
		var stored store.Confirm
		stored, known = v.Confirm(id)
		question = confirm.Question(stored)
		return nil
	})
	switch {
	case err != nil:
		return question, err
	case known && !c.peer.Verdict.Owns(question.Asker):
		return question, d.forbid(ctx, c.peer, what)
	case !known && c.peer.Verdict.Inside: // says no more than for another's question
		return question, wire.Refuse(wire.ConfirmError, "no question of this run has the id %q", clip(id))
	case !known:
		return question, wire.Refuse(wire.ConfirmError, "no question has the id %q: it never had, or it ended more than 24 hours ago", clip(id))
	}
	return question, nil
}

func (d *Daemon) statusOr(q confirm.Question, err error) (wire.DaemonStatus, error) {
	if err != nil {
		return wire.DaemonStatus{}, err
	}
	return d.statusWith(q)
}

func (d *Daemon) statusWith(q confirm.Question) (wire.DaemonStatus, error) {
	status, err := d.status()
	info := confirm.Info(q)
	status.Confirm = &info
	return status, err
}

// questionID is 12 lowercase hex digits: random, or derived from the request id, so that a repeat
// finds what the first try stored.
func questionID(c call) string {
	if c.requestID == "" {
		return newID()
	}
	sum := sha256.Sum256([]byte(c.peer.Verdict.Run() + "\x00" + c.requestID))
	return hex.EncodeToString(sum[:6])
}

func newID() string {
	var b [6]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// pick is a random number in [0, n).
func pick(n int) int {
	i, err := rand.Int(rand.Reader, big.NewInt(int64(n)))
	if err != nil {
		panic("no randomness: " + err.Error()) // crypto/rand does not fail on a supported system
	}
	return int(i.Int64())
}
