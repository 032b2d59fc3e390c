package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"scv/wire"
	"scv/wire/bus"
)

const (
	// keepAlive is how often an asker says that it is still there. The daemon withdraws a question
	// that nobody asked about for 60 s (the seed's ConfirmStatus): three of them may be lost.
	keepAlive = 15 * time.Second
	// afterDeadline is how long past its deadline a question is followed while the daemon is away,
	// so that a restart at the last moment still tells the outcome.
	afterDeadline = 120 * time.Second
	// lastWords bounds the withdrawal after an interrupt.
	lastWords = 2 * time.Second
)

// errOverdue is the end of a question whose outcome the daemon never told.
var errOverdue = errors.New("the daemon did not tell the outcome before the deadline")

// question is one question on its way: asked once, then followed until its state is final.
type question struct {
	a       *app
	ask     wire.ConfirmAskCommand
	request string          // id of the ask, so that a repeat is the same question
	last    context.Context // outlives an interrupt by lastWords
	info    wire.ConfirmInfo
	tail    string // with which the text that the owner sees must end, or ""
	stuck   bool   // the daemon said that it cannot write its store
}

// follow asks and waits until the outcome is known, across restarts of the daemon. The info it returns
// with an error is the last known. The text that the owner sees must end with the tail, or it was cut.
func (a *app) follow(ask wire.ConfirmAskCommand, timeout time.Duration, tail string) (wire.ConfirmInfo, error) {
	longest := min(timeout, longestConfirm) + afterDeadline
	ctx, cancel := context.WithTimeoutCause(a.ctx, longest, errOverdue)
	defer cancel()
	last, cancelLast := linger(ctx, lastWords)
	defer cancelLast()
	q := &question{a: a, ask: ask, request: randomID(), last: last, tail: tail}
	err := a.stay(ctx, q.work)
	switch {
	case err != nil && ctx.Err() != nil:
		err = q.giveUp(ctx)
		return q.info, err
	case err != nil:
		return q.info, a.explain(err)
	case a.interrupted(): // in the moment of the answer
		return q.info, fmt.Errorf("%w; the question is %s", errInterrupted, q.info.State)
	}
	q.sayOutcome()
	return q.info, nil
}

// work follows the question over one connection.
func (q *question) work(ctx context.Context, client *bus.Client) error {
	if q.info.ID == "" {
		if err := q.put(client); err != nil {
			return err
		}
	}
	if err := q.showsAll(client); err != nil {
		return err
	}
	// Listening comes before looking, so that no change falls in between.
	events, err := client.WatchConfirm(ctx, q.info.ID)
	if err != nil {
		return err
	}
	again := time.NewTicker(q.a.pace.keepAlive)
	defer again.Stop()
	for {
		if err := q.look(client); err != nil || q.over() {
			return err
		}
		if err := q.wait(ctx, events, again.C); err != nil || q.over() {
			return err
		}
	}
}

// wait returns when there is reason to look, or the question is over.
func (q *question) wait(ctx context.Context, events <-chan wire.ConfirmInfo, again <-chan time.Time) error {
	if err := ctx.Err(); err != nil { // comes before what else may be there
		return err
	}
	select {
	case info, open := <-events:
		if !open { // the connection is gone
			return errAway
		}
		return q.take(&info)
	case <-again:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// put asks the question. It may finish after an interrupt, so that the question can be withdrawn by id.
func (q *question) put(client *bus.Client) error {
	ctx, cancel := context.WithTimeout(bus.WithRequestID(q.last, q.request), changeLimit)
	defer cancel()
	status, err := client.Control(ctx, q.ask)
	if err != nil {
		return err
	}
	if status.Confirm == nil || status.Confirm.ID == "" {
		return failf(exitOther, "", "the daemon did not say which question it asked")
	}
	q.info = *status.Confirm
	q.a.note("asked in %s; waiting until %s; answer yes or no there",
		line(q.info.Chat), q.a.clockTime(q.info.DeadlineUnixSeconds))
	return nil
}

// showsAll withdraws a question whose end was cut, which happens to one that grew by escapes: nobody can
// say yes to a hash that was not shown. The hash itself may stand elsewhere too, as in the name of a folder.
func (q *question) showsAll(client *bus.Client) error {
	if q.tail == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(q.last, changeLimit)
	defer cancel()
	detail, err := client.ConfirmShow(ctx, q.info.ID)
	if err != nil {
		return err
	}
	if strings.HasSuffix(detail.Question, q.tail) {
		q.tail = "" // once is enough: a text on record never changes
		return nil
	}
	if detail, err = client.ConfirmWithdraw(ctx, q.info.ID); err != nil {
		return err
	}
	q.info = detail.Confirm
	return failf(exitOther, "ask in fewer words", "the question was cut when shown, before the hash that it is for; it is withdrawn")
}

// look asks where the question stands, which also keeps it alive. A daemon that cannot write for the
// moment is asked again later.
func (q *question) look(client *bus.Client) error {
	if q.over() {
		return nil
	}
	ctx, cancel := context.WithTimeout(q.last, changeLimit)
	defer cancel()
	status, err := client.Control(ctx, wire.ConfirmStatusCommand{ID: q.info.ID})
	var refused *wire.Error
	if errors.As(err, &refused) && refused.Code == wire.Unavailable {
		if !q.stuck {
			q.a.note("%s; still waiting", line(refused.Text))
			q.stuck = true
		}
		return nil
	}
	if err != nil {
		return err
	}
	q.stuck = false
	return q.take(status.Confirm)
}

// take believes news only about this very question.
func (q *question) take(info *wire.ConfirmInfo) error {
	if info == nil || info.ID != q.info.ID {
		return failf(exitOther, "", "the daemon answered about another question than %s", q.info.ID)
	}
	q.info = *info
	return nil
}

// over reports that nothing more will come: a final state, or one this scv does not know.
func (q *question) over() bool { return q.info.ID != "" && q.info.State != wire.Pending }

// giveUp withdraws a question that is no longer waited for, so that a late yes starts nothing.
func (q *question) giveUp(ctx context.Context) error {
	why := errInterrupted
	if errors.Is(context.Cause(ctx), errOverdue) {
		why = errOverdue
	}
	if q.info.ID == "" {
		return why
	}
	err := q.a.exchange(q.last, func(ctx context.Context, client *bus.Client) error {
		detail, err := client.ConfirmWithdraw(ctx, q.info.ID)
		if err == nil {
			q.info = detail.Confirm
		}
		return err
	})
	if err != nil {
		return failf(exitOther, "it is withdrawn within a minute, when nobody asks about it", "%w; the question could not be withdrawn at once", why)
	}
	if q.info.State == wire.Withdrawn { // which stdout says already
		return why
	}
	return fmt.Errorf("%w; the question is %s", why, q.info.State)
}

// sayOutcome tells why, where the word alone does not.
func (q *question) sayOutcome() {
	switch q.info.State {
	case wire.Expired:
		q.a.note("no answer before %s, which counts as no", q.a.clockTime(q.info.DeadlineUnixSeconds))
	case wire.Withdrawn:
		q.a.note("the question was withdrawn before an answer came")
	case wire.NotAsked:
		q.a.note("the question did not reach %s, or its answer was lost", line(q.info.Chat))
	case wire.Unknown:
		q.a.note("the daemon is newer than this scv and gave an outcome it does not know")
	case wire.Yes, wire.No, wire.Pending:
	}
}
